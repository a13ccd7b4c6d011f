"""Which partitions are read: of named topics, of those that match a pattern, or single ones."""

import re
from dataclasses import dataclass

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.client.metadata import Topic, TopicPartition
from barnabas.wire.errors import ErrorCode

_MISSING = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True)
class Named:
    """`subscribe`: all partitions of these topics."""

    topics: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """`subscribePattern`: all partitions of the topics whose whole name matches."""

    pattern: str


@dataclass(frozen=True)
class Assigned:
    """`assign`: these partitions."""

    partitions: tuple[TopicPartition, ...]


Subscription = Named | Pattern | Assigned


async def partitions_of(
    cluster: Cluster, subscription: Subscription, *, missing_ok: bool = False
) -> set[TopicPartition]:
    """The partitions there are now. Topics that do not exist are an error or left out."""

    async def attempt() -> set[TopicPartition]:
        topics = await cluster.refresh(_asked(subscription))
        return _chosen(subscription, topics, missing_ok)

    return await cluster.retrying(attempt)


def _chosen(
    subscription: Subscription, topics: dict[str, Topic], missing_ok: bool
) -> set[TopicPartition]:
    match subscription:
        case Pattern(pattern):
            matches = re.compile(pattern).fullmatch
            return {
                each
                for name, topic in topics.items()
                if matches(name) and not topic.is_internal and not topic.error_code
                for each in _partitions(topic)
            }
        case Named(names):
            found = {name: topics[name] for name in names}
            return _existing(found, missing_ok)
        case Assigned(partitions):
            found = {each.topic: topics[each.topic] for each in partitions}
            existing = _existing(found, missing_ok)
            for each in partitions:
                if each not in existing and not missing_ok:
                    check(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {each}")
            return existing & set(partitions)


def _asked(subscription: Subscription) -> list[str] | None:
    match subscription:
        case Pattern():
            return None
        case Named(names):
            return list(names)
        case Assigned(partitions):
            return list({each.topic for each in partitions})


def _existing(topics: dict[str, Topic], missing_ok: bool) -> set[TopicPartition]:
    found: set[TopicPartition] = set()
    for name, topic in topics.items():
        if topic.error_code and not (missing_ok and topic.error_code in _MISSING):
            check(topic.error_code, f"topic {name}")
        found.update(_partitions(topic))
    return found


def _partitions(topic: Topic) -> list[TopicPartition]:
    return [TopicPartition(topic.name, each.partition) for each in topic.partitions]
