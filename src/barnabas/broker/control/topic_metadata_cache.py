"""Caches the encoded Metadata response per topic: a thousand topics must not stall the event loop.

Neither must a topic of ten thousand partitions of which some change: each encoded partition is
cached too, for as long as its image is unchanged.
"""

from itertools import zip_longest

from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from barnabas.wire.primitives import Writer


class EncodedPartition(MetadataResponsePartition):
    """A partition's part of the response, encoded once per requested version."""

    __slots__ = ("_encoded", "image")

    def __init__(self, image: PartitionImage, offline: frozenset[int]) -> None:
        super().__init__(
            error_code=0 if image.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=image.index,
            leader_id=image.leader,
            leader_epoch=image.leader_epoch,
            replica_nodes=image.replicas,
            isr_nodes=image.isr,
            offline_replicas=[replica for replica in image.replicas if replica in offline],
        )
        self.image = image
        self._encoded: dict[int, bytes] = {}

    def encode(self, w: Writer, version: int) -> None:
        encoded = self._encoded.get(version)
        if encoded is not None:
            w.buffer += encoded
            if self.error_code:
                w.errors.append(self.error_code)
            return
        start = len(w.buffer)
        super().encode(w, version)
        self._encoded[version] = bytes(w.buffer[start:])


class EncodedTopic(MetadataResponseTopic):
    """A topic's part of the response, encoded once per requested version."""

    __slots__ = ("_encoded", "_errors")

    def __init__(
        self, topic: TopicImage, offline: frozenset[int], before: "EncodedTopic | None"
    ) -> None:
        """Unchanged partitions are reused from the response `before`, of the same brokers."""
        known = () if before is None else before.partitions
        super().__init__(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[
                partition
                if isinstance(partition, EncodedPartition) and partition.image is image
                else EncodedPartition(image, offline)
                for image, partition in zip_longest(topic.partitions, known)
                if image is not None
            ],
        )
        self._encoded: dict[int, bytes] = {}
        self._errors: list[int] = []

    def encode(self, w: Writer, version: int) -> None:
        encoded = self._encoded.get(version)
        if encoded is None:
            own = Writer()
            super().encode(own, version)
            encoded = self._encoded[version] = own.getvalue()
            self._errors = own.errors
        w.buffer += encoded
        w.errors += self._errors


class TopicMetadataCache:
    """The encoded responses of all topics."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._answers: dict[str, EncodedTopic] = {}
        self._outdated: dict[str, EncodedTopic] = {}
        self._offline: frozenset[int] = frozenset()

    def is_known(self, topic: TopicImage) -> bool:
        """Whether the topic's response is cached."""
        return topic.name in self._answers

    def of(self, topic: TopicImage) -> EncodedTopic:
        answer = self._answers.get(topic.name)
        if answer is None:
            before = self._outdated.pop(topic.name, None)
            answer = self._answers[topic.name] = EncodedTopic(topic, self._offline, before)
        return answer

    def changed(self, name: str) -> None:
        """The topic has changed or is gone: its response is rebuilt when it is next requested."""
        outdated = self._answers.pop(name, None)
        if name not in self._image.topics:
            self._outdated.pop(name, None)
        elif outdated is not None:
            self._outdated[name] = outdated

    def brokers_changed(self) -> None:
        """Brokers have come or gone: replicas on them are online or offline now."""
        offline = frozenset(broker.id for broker in self._image.brokers.values() if broker.fenced)
        if offline != self._offline:
            self._offline = offline
            self._answers.clear()
            self._outdated.clear()
