"""The topics of the cluster, as far as assignments depend on them."""

from collections.abc import Collection, Iterator
from hashlib import blake2b
from typing import NamedTuple, Protocol

from barnabas.wire.primitives import ZERO_UUID


class TopicMetadata(NamedTuple):
    """A topic, and how many partitions it has."""

    name: str
    topic_id: bytes
    partition_count: int


class Topics(Protocol):
    """What a shard knows of topics; it changes between decisions."""

    @property
    def version(self) -> int:
        """Another number whenever a topic is created or deleted, or gets more partitions."""

    def by_name(self, name: str, /) -> TopicMetadata | None: ...

    def by_id(self, topic_id: bytes, /) -> TopicMetadata | None: ...

    def names(self) -> Collection[str]:
        """All topics, including internal ones."""

    def racks_of(self, topic_id: bytes, index: int, /) -> frozenset[str]:
        """Where the replicas of a partition are. A change of racks alone is no new version."""


class NoTopics:
    """A cluster without topics."""

    version = 0

    def by_name(self, _name: str) -> TopicMetadata | None:
        return None

    def by_id(self, _topic_id: bytes) -> TopicMetadata | None:
        return None

    def names(self) -> Collection[str]:
        return ()

    def racks_of(self, _topic_id: bytes, _index: int) -> frozenset[str]:
        return frozenset()


def topic_id_of(topics: Topics, name: str) -> bytes:
    """The id of the topic that has the name now; zero if there is none."""
    topic = topics.by_name(name)
    return ZERO_UUID if topic is None else topic.topic_id


def existing(names: Collection[str], topics: Topics) -> Iterator[TopicMetadata]:
    """Those of the topics that exist.

    Members may name far more topics than there are, so this looks at the smaller of the two.
    """
    known = topics.names()
    chosen = names if len(names) <= len(known) else [name for name in known if name in names]
    for name in chosen:
        topic = topics.by_name(name)
        if topic is not None:
            yield topic


def metadata_hash(names: Collection[str], topics: Topics) -> int:
    """Another number whenever one of these topics is created or deleted, or gets more partitions.

    It is stored with the group epoch, so that a new coordinator sees changes that it has missed.
    Kafka stores another hash in that place: a coordinator that takes over from the other kind
    rebalances once.
    """
    known = sorted(existing(names, topics))
    if not known:
        return 0
    digest = blake2b(digest_size=8)
    for topic in known:
        name = topic.name.encode()
        digest.update(len(name).to_bytes(2))
        digest.update(name)
        digest.update(topic.topic_id)
        digest.update(topic.partition_count.to_bytes(4))
    return int.from_bytes(digest.digest(), signed=True)
