"""When the simulator reports that too few copies are left, and when it must not."""

from dataclasses import replace

import pytest

from barnabas.metadata.image import MetadataImage
from barnabas.sim.checks.copies import Copies
from barnabas.sim.checks.history import Violation
from barnabas.wire.messages.metadata_records import ConfigRecord, PartitionRecord, TopicRecord

TOPIC = bytes(16)
_TOPIC_CONFIG = 2


def image_of(replicas: list[int], isr: list[int], elr: list[int] | None = None) -> MetadataImage:
    image = MetadataImage()
    image.replay(TopicRecord("t", TOPIC))
    image.replay(ConfigRecord(_TOPIC_CONFIG, "t", "min.insync.replicas", "2"))
    image.replay(PartitionRecord(0, TOPIC, replicas, isr, leader=isr[0]))
    partitions = image.topics["t"].partitions
    partitions[0] = replace(partitions[0], elr=elr or [])
    return image


def after(first: MetadataImage, second: MetadataImage) -> None:
    copies = Copies()
    copies.learn(first)
    copies.learn(second)


def test_a_copy_that_was_needed_is_deleted() -> None:
    with pytest.raises(Violation, match="only \\[3\\] are left"):
        after(image_of([1, 2, 3, 4], [3, 4]), image_of([1, 2, 3], [3]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (image_of([1, 2, 3, 4], [3, 4]), image_of([1, 2, 3, 4], [3])),  # nothing is deleted
        (image_of([1, 2, 3, 4], [3]), image_of([1, 2, 3], [3])),  # one that lacked something
        (image_of([1, 2, 3, 4], [3, 4]), image_of([1, 2, 3], [3, 1])),
        (image_of([1, 2, 3, 4], [3, 4]), image_of([1, 2, 3], [3], [1])),
        (image_of([1, 2], [1, 2]), image_of([1], [1])),
    ],
)
def test_enough_are_left(first: MetadataImage, second: MetadataImage) -> None:
    after(first, second)


def test_the_lower_of_two_minima_counts() -> None:
    first, second = image_of([1, 2, 3, 4], [3, 4]), image_of([1, 2, 3], [3])
    first.replay(ConfigRecord(_TOPIC_CONFIG, "t", "min.insync.replicas", "1"))
    after(first, second)
