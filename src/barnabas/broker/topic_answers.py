"""What Metadata says of a topic, kept encoded: a thousand topics must not stall the event loop."""

from barnabas.metadata.image import MetadataImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from barnabas.wire.primitives import Writer


class EncodedTopic(MetadataResponseTopic):
    """A topic's part of the answer, encoded once for each version that is asked for."""

    __slots__ = ("_encoded",)

    def __init__(self, topic: TopicImage, offline: frozenset[int]) -> None:
        super().__init__(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[
                MetadataResponsePartition(
                    error_code=0 if partition.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                    partition_index=partition.index,
                    leader_id=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=partition.isr,
                    offline_replicas=[
                        replica for replica in partition.replicas if replica in offline
                    ],
                )
                for partition in topic.partitions
            ],
        )
        self._encoded: dict[int, bytes] = {}

    def encode(self, w: Writer, version: int) -> None:
        encoded = self._encoded.get(version)
        if encoded is None:
            own = Writer()
            super().encode(own, version)
            encoded = self._encoded[version] = own.getvalue()
        w.buffer += encoded


class TopicAnswers:
    """The encoded answers of all topics."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._answers: dict[str, EncodedTopic] = {}
        self._offline: frozenset[int] = frozenset()

    def of(self, topic: TopicImage) -> EncodedTopic:
        answer = self._answers.get(topic.name)
        if answer is None:
            answer = self._answers[topic.name] = EncodedTopic(topic, self._offline)
        return answer

    def changed(self, name: str) -> None:
        """The topic has changed or gone: its answer is made anew when it is asked for."""
        self._answers.pop(name, None)

    def brokers_changed(self) -> None:
        """Brokers have come or gone: replicas on them are online or offline now."""
        offline = frozenset(broker.id for broker in self._image.brokers.values() if broker.fenced)
        if offline != self._offline:
            self._offline = offline
            self._answers.clear()
