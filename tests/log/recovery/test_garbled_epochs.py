"""Batches with a flipped bit in their leader epoch, which no checksum covers."""

from struct import pack

import pytest

from barnabas.log import Log, LogConfig
from barnabas.records.decode import iter_batches
from tests.log.batches import put, values
from tests.log.memory_disk import MemoryDisk

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)
DIRECTORY = "data/t-0"


def filled(epochs: str, *, vouched: bool = False) -> MemoryDisk:
    """A log with a batch of each epoch, killed; if `vouched`, its state knows all segments."""
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for epoch in map(int, epochs):
        put(log, b"x" * 20, epoch=epoch)
    log.close() if vouched else log.abandon()
    return disk


def garble(disk: MemoryDisk, offset: int, epoch: int) -> None:
    for path in sorted(path for path in disk.nodes if path.endswith(".log")):
        at = 0
        for header, view in iter_batches(bytes(disk.nodes[path].data)):
            if header.base_offset == offset:
                disk.nodes[path].data[at + 12 : at + 16] = pack(">i", epoch)
                return
            at += len(view)
    raise AssertionError(f"no batch starts at {offset}")


def opened(disk: MemoryDisk) -> Log:
    return Log.open(disk, DIRECTORY, CONFIG, 0, power_lost=False)


def stored_epochs(log: Log) -> list[int]:
    found: list[int] = []
    while len(found) < log.log_end_offset:
        data = log.read(len(found), 1 << 20)
        found += [header.partition_leader_epoch for header, _ in iter_batches(data)]
    return found


@pytest.mark.parametrize("garbled", [0, 2, 4, 7, 1 << 20, -5])
@pytest.mark.parametrize("offset", [2, 3])
def test_an_epoch_that_can_only_be_one_is_corrected(offset: int, garbled: int) -> None:
    disk = filled("33333355")
    garble(disk, offset, garbled)
    log = opened(disk)
    assert log.suspect_epochs_from is None
    assert log.recovery is not None
    assert log.recovery.corrected_epochs == 1
    assert stored_epochs(log) == [3] * 6 + [5, 5]
    assert log.epochs.entries() == [(3, 0), (5, 6)]
    log.close()
    assert stored_epochs(opened(disk)) == [3] * 6 + [5, 5], "it is on the disk"


@pytest.mark.parametrize("garbled", [0, 7, 1 << 20, -5])
@pytest.mark.parametrize("offset", [5, 6])
def test_an_epoch_between_two_others_is_not_clear(offset: int, garbled: int) -> None:
    disk = filled("33333355")
    garble(disk, offset, garbled)
    log = opened(disk)
    assert log.suspect_epochs_from == offset
    assert stored_epochs(log)[offset] == garbled


def test_an_epoch_that_is_not_clear_stays_evidence_until_the_replica_leads() -> None:
    disk = filled("333455")
    garble(disk, 3, 1)
    for _ in range(3):
        log = opened(disk)
        assert log.suspect_epochs_from == 3
        assert stored_epochs(log)[3] == 1
        log.close()
    log = opened(disk)
    assert log.epoch_repair.adopt(6) == 1
    assert log.suspect_epochs_from is None
    assert stored_epochs(log) == [3, 3, 3, 5, 5, 5], "the later one is safe"
    assert log.epochs.entries() == [(3, 0), (5, 3)]
    log.close()
    assert opened(disk).suspect_epochs_from is None


def test_the_last_batches_get_the_epoch_of_who_leads_with_them() -> None:
    disk = filled("3333")
    garble(disk, 3, 1 << 20)
    log = opened(disk)
    assert log.suspect_epochs_from is None, "only the leader's epoch shows that it can't be"
    assert log.epoch_repair.adopt(1 << 21) == 0
    assert log.epoch_repair.adopt(6) == 1
    assert stored_epochs(log) == [3, 3, 3, 6]
    log.appender.begin_epoch(6)
    put(log, b"more", epoch=6)
    assert log.epochs.entries() == [(3, 0), (6, 3)]


def test_it_is_forgotten_when_the_log_is_cut_there() -> None:
    disk = filled("33345")
    garble(disk, 3, 1)
    log = opened(disk)
    log.truncate_to(4)
    assert log.suspect_epochs_from == 3
    log.truncate_to(3)
    assert log.suspect_epochs_from is None
    put(log, b"again", epoch=4)
    assert stored_epochs(log) == [3, 3, 3, 4]
    log.close()
    assert opened(disk).suspect_epochs_from is None


def test_the_log_starts_with_a_garbled_epoch() -> None:
    disk = filled("333333")
    garble(disk, 0, 9)
    log = opened(disk)
    assert log.suspect_epochs_from == 0
    assert log.epoch_repair.adopt(3) == 1
    assert stored_epochs(log) == [3] * 6
    assert len(values(log)) == 6


@pytest.mark.parametrize("garbled", [1, 4, 9])
def test_a_scrub_compares_with_the_epochs_of_the_state(garbled: int) -> None:
    """Nothing looks into a segment that the state vouches for, but it knows its epochs."""
    disk = filled("3334455", vouched=True)
    garble(disk, 1, garbled)
    log = opened(disk)
    assert log.recovery is None
    job = log.scrub.job(0)
    assert job is not None
    while job.step(1):
        pass
    job.close()
    assert job.rot is None
    assert job.garbled == {1: garbled}
    assert log.epoch_repair.correct(job.garbled) == 1
    assert stored_epochs(log) == [3, 3, 3, 4, 4, 5, 5]


def test_a_scrub_leaves_evidence_alone() -> None:
    disk = filled("333455")
    garble(disk, 3, 1)
    log = opened(disk)
    job = log.scrub.job(3)
    assert job is not None
    while job.step(1):
        pass
    job.close()
    assert not job.garbled


@pytest.mark.parametrize(("offset", "garbled"), [(1, 0), (4, 4)])
def test_if_either_of_two_batches_may_be_wrong_it_is_not_clear(offset: int, garbled: int) -> None:
    disk = filled("33333355")
    garble(disk, offset, garbled)
    assert opened(disk).suspect_epochs_from == min(offset, 4 if garbled else 0)
