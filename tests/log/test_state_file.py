"""`log.state` of an open log: when it is written, and which segments it trusts."""

import pytest

from barnabas.log import Log, StorageError
from barnabas.log.lost_ranges import LostRange
from barnabas.log.state import STATE_FILE, LogState, read_state
from barnabas.log.state_file import StateFile
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.log.parts import CONFIG, DIRECTORY, local_log

PATH = f"{DIRECTORY}/{STATE_FILE}"


def closed(disk: MemoryDisk) -> list[int]:
    """A log of several segments; returns their base offsets."""
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(12):
        put(log, b"%d" % number * 20)
    log.close()
    return [segment.base_offset for segment in log.segments]


def state(disk: MemoryDisk) -> LogState:
    found = read_state(disk, DIRECTORY)
    assert found is not None
    return found


def test_nothing_is_written_as_long_as_nothing_changes() -> None:
    disk = MemoryDisk()
    closed(disk)
    log = local_log(disk)
    state_file = StateFile(log, is_current=True)
    disk.unlink(PATH)
    state_file.checkpoint()
    assert not disk.exists(PATH)
    log.committed_offset -= 1
    state_file.checkpoint()
    assert state(disk).committed_offset == log.committed_offset
    disk.unlink(PATH)
    state_file.checkpoint()
    assert not disk.exists(PATH)
    state_file.invalidate()
    state_file.checkpoint()
    assert disk.exists(PATH)


def test_an_outdated_file_is_written_by_the_first_checkpoint() -> None:
    disk = MemoryDisk()
    bases = closed(disk)
    log = local_log(disk)
    disk.unlink(PATH)
    StateFile(log, is_current=False).checkpoint()
    assert list(state(disk).segments) == bases


def test_a_failed_checkpoint_is_done_again() -> None:
    disk = MemoryDisk()
    closed(disk)
    state_file = StateFile(local_log(disk), is_current=False)
    disk.unlink(PATH)
    disk.capacity = 0
    with pytest.raises(StorageError, match="cannot write the state"):
        state_file.checkpoint()
    disk.capacity = 1 << 40
    state_file.checkpoint()
    assert disk.exists(PATH)


def test_only_flushed_and_trusted_segments_are_listed() -> None:
    disk = MemoryDisk()
    bases = closed(disk)
    log = local_log(disk)
    state_file = StateFile(log, is_current=True)
    log.flushed_offset = bases[-1]
    state_file.checkpoint()
    assert list(state(disk).segments) == bases[:-1]
    state_file.distrust([bases[1]])
    state_file.checkpoint()
    assert list(state(disk).segments) == [bases[0], *bases[2:-1]]
    state_file.trust_all()
    state_file.checkpoint()
    assert list(state(disk).segments) == bases[:-1]


def test_a_replaced_segment_is_to_be_scanned() -> None:
    disk = MemoryDisk()
    bases = closed(disk)
    StateFile(local_log(disk), is_current=True).write(replaced=[bases[1]])
    sizes = {base: segment.size for base, segment in state(disk).segments.items()}
    assert sizes[bases[1]] < 0
    assert all(sizes[base] > 0 for base in bases if base != bases[1])


def test_the_state_before_a_truncation_has_nothing_behind_it() -> None:
    disk = MemoryDisk()
    closed(disk)
    log = local_log(disk)
    log.committed_offset = 9
    log.lost_ranges.add(LostRange(2, 3, "x"))
    log.lost_ranges.add(LostRange(6, 9, "y"))
    StateFile(log, is_current=True).write(end_offset=7)
    assert state(disk).committed_offset == 7
    assert [each[:2] for each in state(disk).lost_ranges] == [(2, 3), (6, 7)]
    assert log.committed_offset == 9
    assert len(log.lost_ranges) == 2
