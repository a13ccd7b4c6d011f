"""From where to where a log goes, without opening it."""

import pytest

from barnabas.log import Log, LogConfig
from barnabas.log.offline.log_extent import LogExtent, log_extent
from tests.log.batches import batch
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def filled(disk: MemoryDisk, count: int) -> Log:
    log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=300), 0)
    for number in range(count):
        log.append(*batch([(number, b"k", b"v" * 40)]), number // 3, 0)
    return log


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_it_is_what_opening_it_tells(disk: MemoryDisk, count: int, clean: bool) -> None:
    log = filled(disk, count)
    if clean:
        log.close()
    assert log_extent(disk, DIRECTORY) == LogExtent(0, count, (count - 1) // 3)


def test_nothing_is_written(disk: MemoryDisk) -> None:
    filled(disk, 5)
    before = {name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.list_files(DIRECTORY)}
    log_extent(disk, DIRECTORY)
    after = {name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.list_files(DIRECTORY)}
    assert before == after


def test_retention_moves_the_start(disk: MemoryDisk) -> None:
    log = filled(disk, 20)
    job = log.retention.delete_records_before(11)
    assert job is not None
    job.run()
    log.close()
    assert log_extent(disk, DIRECTORY) == LogExtent(11, 20, 6)


def test_a_torn_end_does_not_count(disk: MemoryDisk) -> None:
    filled(disk, 2)
    name = max(name for name in disk.list_files(DIRECTORY) if name.endswith(".log"))
    file = disk.open(f"{DIRECTORY}/{name}")
    file.truncate(file.size() - 5)
    assert log_extent(disk, DIRECTORY) == LogExtent(0, 1, 0)


def test_an_empty_log_and_none_at_all(disk: MemoryDisk) -> None:
    assert log_extent(disk, DIRECTORY) is None
    disk.make_directory(DIRECTORY)
    assert log_extent(disk, DIRECTORY) == LogExtent(0, 0, -1)
