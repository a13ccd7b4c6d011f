"""When the simulator reports that a replica gave up committed records, and when it must not."""

import pytest

from barnabas.metadata.image import MetadataImage
from barnabas.sim.checks.history import Violation
from barnabas.sim.checks.kept_records import KeptRecords
from barnabas.wire.messages.metadata_records import PartitionRecord, TopicRecord

TOPIC = bytes(16)
KEY = (TOPIC, 0)


def _image(replicas: list[int]) -> MetadataImage:
    image = MetadataImage()
    image.replay(TopicRecord("t", TOPIC))
    image.replay(PartitionRecord(0, TOPIC, replicas, replicas, leader=replicas[0]))
    return image


def _kept() -> KeptRecords:
    kept = KeptRecords()
    kept.learn(_image([1, 2]))
    kept.has(1, KEY, 7)
    return kept


def test_a_replica_keeps_what_is_committed() -> None:
    kept = _kept()
    kept.check("t-0", 1, KEY, 7, may_start_over=False)
    kept.check("t-0", 2, KEY, 0, may_start_over=False)
    with pytest.raises(Violation, match="ends at 6, but it had everything up to 7"):
        kept.check("t-0", 1, KEY, 6, may_start_over=False)


def test_what_a_fault_has_taken_is_not_kept() -> None:
    for lose in (
        lambda kept: kept.loses(1),
        lambda kept: kept.all_lose(),
        lambda kept: kept.rots(1, KEY),
    ):
        kept = _kept()
        lose(kept)
        kept.check("t-0", 1, KEY, 0, may_start_over=False)


def test_a_replica_that_is_removed_keeps_nothing() -> None:
    kept = _kept()
    kept.learn(_image([2]))
    kept.has(1, KEY, 8)  # it does not know yet
    kept.learn(_image([1, 2]))
    kept.check("t-0", 1, KEY, 0, may_start_over=False)


def test_a_replica_that_may_start_over_is_counted_from_there() -> None:
    kept = _kept()
    kept.has(1, KEY, 8)
    kept.check("t-0", 1, KEY, 0, may_start_over=True)
    kept.check("t-0", 1, KEY, 0, may_start_over=False)
