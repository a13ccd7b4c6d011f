"""What a log remembers, and what a loss of power may make of it."""

import errno

import pytest

from barnabas.log.compaction_progress import Progress
from barnabas.log.state import STATE_FILE, LogState, read_state, write_state
from tests.log.memory_disk import MemoryDisk

PATH = f"data/{STATE_FILE}"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory("data")
    write_state(disk, "data", LogState(7, [(0, 0), (2, 5)], {}, 9, Progress()))
    return disk


def test_it_is_read_as_it_was_written(disk: MemoryDisk) -> None:
    state = read_state(disk, "data")
    assert state is not None
    assert (state.log_start_offset, state.epochs, state.committed_offset) == (
        7,
        [(0, 0), (2, 5)],
        9,
    )


def test_no_flipped_bit_is_believed(disk: MemoryDisk) -> None:
    whole = disk.read_file(PATH)
    for at in range(len(whole) - 1):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << bit
            disk.replace_file(PATH, bytes(flipped))
            assert read_state(disk, "data") is None


def test_a_disk_that_fails_has_not_lost_it(disk: MemoryDisk) -> None:
    """It alone may know that the log has lost records."""

    def fail(_: str) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    read_file, disk.read_file = disk.read_file, fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="Input/output error"):
        read_state(disk, "data")
    disk.read_file = read_file  # type: ignore[method-assign]
    disk.unlink(f"data/{STATE_FILE}")
    assert read_state(disk, "data") is None


def test_one_of_an_earlier_release_has_no_checksum(disk: MemoryDisk) -> None:
    disk.replace_file(PATH, disk.read_file(PATH).splitlines()[0])
    assert read_state(disk, "data") is not None
