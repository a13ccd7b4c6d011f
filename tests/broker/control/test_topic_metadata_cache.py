"""Metadata's encoded answers are those of the image as it is, whatever has changed in between."""

from collections.abc import Iterator
from random import Random

import pytest

from barnabas.broker.control.topic_metadata_cache import TopicMetadataCache
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from barnabas.wire.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.wire.primitives import Reader, Writer

NAME = "t"
VERSIONS = (5, 9, 12)


class Life:
    """An image that changes, and the answers that follow it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.image = MetadataImage()
        self.answers = TopicMetadataCache(self.image)
        self.topic_id = bytes(16)
        for broker_id in (1, 2, 3):
            record = RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_id, fenced=False)
            self.image.replay(record)
        self.create()

    def create(self) -> None:
        self.topic_id = self.random.randbytes(16)
        self.image.replay(TopicRecord(NAME, self.topic_id))
        for index in range(self.random.randint(1, 5)):
            self.add_partition(index)
        self.answers.changed(NAME)

    def add_partition(self, index: int) -> None:
        record = PartitionRecord(index, self.topic_id, [1, 2, 3], [1, 2, 3], leader=1)
        self.image.replay(record)

    def step(self) -> None:
        partitions = self.image.topics[NAME].partitions
        match self.random.randint(1, 10):
            case 1:
                self.image.replay(RemoveTopicRecord(self.topic_id))
                self.answers.changed(NAME)
                self.create()
            case 2:
                self.add_partition(len(partitions))
                self.answers.changed(NAME)
            case 3 | 4:
                broker_id, fenced = self.random.randint(1, 3), self.random.choice([1, -1])
                self.image.replay(BrokerRegistrationChangeRecord(broker_id, broker_id, fenced))
                self.answers.brokers_changed()
            case _:
                index, leader = self.random.randrange(len(partitions)), self.random.choice([-1, 2])
                change = PartitionChangeRecord(index, self.topic_id, isr=[2], leader=leader)
                self.image.replay(change)
                self.answers.changed(NAME)

    def encoded(self) -> Iterator[tuple[int, bytes]]:
        for version in self.random.sample(VERSIONS, 2):
            w = Writer()
            self.answers.of(self.image.topics[NAME]).encode(w, version)
            yield version, w.getvalue()

    def expected(self) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            0,
            NAME,
            self.topic_id,
            False,
            [
                MetadataResponsePartition(
                    0 if partition.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                    partition.index,
                    partition.leader,
                    partition.leader_epoch,
                    partition.replicas,
                    partition.isr,
                    [r for r in partition.replicas if self.image.brokers[r].fenced],
                )
                for partition in self.image.topics[NAME].partitions
            ],
        )


@pytest.mark.parametrize("seed", range(20))
def test_answers_follow_the_image(seed: int) -> None:
    life = Life(Random(seed))
    for _ in range(40):
        for version, encoded in life.encoded():
            w = Writer()
            life.expected().encode(w, version)
            assert encoded == w.getvalue()
            assert MetadataResponseTopic.decode(Reader(encoded), version).name == NAME
        for _ in range(life.random.randint(1, 3)):
            life.step()


def test_what_did_not_change_is_not_made_again() -> None:
    life = Life(Random(1))
    topic = life.image.topics[NAME]
    life.add_partition(len(topic.partitions))
    before = life.answers.of(topic).partitions
    life.image.replay(PartitionChangeRecord(0, life.topic_id, isr=[2], leader=2))
    life.answers.changed(NAME)
    after = life.answers.of(topic).partitions
    assert after[0] is not before[0]
    assert all(new is old for new, old in zip(after[1:], before[1:], strict=False))
