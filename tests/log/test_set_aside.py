"""The directory set-aside: names, and what is removed from it."""

from barnabas.log import Log, LogConfig
from barnabas.log.set_aside import (
    SetAsideReason,
    expired_entries,
    set_aside_path,
    sync_set_aside,
)
from barnabas.records.batch import HEADER_SIZE
from tests.log.batches import put, values
from tests.log.memory_disk import MemoryDisk

DAY_MS = 24 * 3600 * 1000
NOW = 20_000 * DAY_MS + 3_723_045
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)


def entry(disk: MemoryDisk, partition: str, time_ms: int, size: int = 10) -> str:
    path = set_aside_path(disk, f"data/{partition}", time_ms, SetAsideReason.TRUNCATED)
    disk.make_directory(path)
    disk.replace_file(f"{path}/00000000000000000000.log", bytes(size))
    return path


def test_the_name_tells_partition_time_and_reason() -> None:
    path = set_aside_path(MemoryDisk(), "data/orders-0", NOW, SetAsideReason.DAMAGED)
    assert path == "data/set-aside/orders-0/20241004T010203.045Z-damaged"


def test_two_of_the_same_time_are_told_apart() -> None:
    disk = MemoryDisk()
    first = entry(disk, "t-0", NOW)
    second = entry(disk, "t-0", NOW)
    assert second == f"{first}-2"
    assert entry(disk, "t-1", NOW) == first.replace("t-0", "t-1")
    assert expired_entries(disk, "data", now_ms=NOW, retention_ms=0) == []
    assert set(expired_entries(disk, "data", now_ms=NOW + 1, retention_ms=0)) >= {first, second}


def test_nothing_was_set_aside() -> None:
    assert expired_entries(MemoryDisk(), "data", now_ms=NOW, retention_ms=0) == []


def test_old_entries_are_removed_and_so_is_an_empty_partition() -> None:
    disk = MemoryDisk()
    old = entry(disk, "t-0", NOW - DAY_MS)
    new = entry(disk, "t-0", NOW)
    alone = entry(disk, "t-1", NOW - DAY_MS)
    parent = "data/set-aside/t-1"
    found = expired_entries(disk, "data", now_ms=NOW + DAY_MS, retention_ms=DAY_MS)
    assert found == [old, alone, parent]
    assert disk.exists(new)


def expired_by_size(disk: MemoryDisk, now_ms: int, max_bytes: int) -> list[str]:
    return expired_entries(
        disk, "data", now_ms=now_ms, retention_ms=30 * DAY_MS, max_bytes=max_bytes
    )


def test_the_oldest_entries_beyond_the_total_size_are_removed() -> None:
    disk = MemoryDisk()
    oldest = entry(disk, "t-1", NOW, size=60)
    older = entry(disk, "t-0", NOW + 1, size=60)
    newest = entry(disk, "t-1", NOW + 2, size=60)
    later = NOW + 2 * DAY_MS
    assert expired_by_size(disk, later, 180) == []
    assert expired_by_size(disk, later, 179) == [oldest]
    assert expired_by_size(disk, later, 60) == [oldest, older]
    assert expired_by_size(disk, later, 0) == [oldest, older, newest]
    assert expired_by_size(disk, later, -1) == []


def test_an_entry_is_kept_for_a_day_whatever_its_size() -> None:
    disk = MemoryDisk()
    old = entry(disk, "t-0", NOW, size=60)
    large = entry(disk, "t-0", NOW + DAY_MS, size=1000)
    assert expired_by_size(disk, NOW + DAY_MS, 100) == []
    assert expired_by_size(disk, NOW + DAY_MS + 1, 100) == [old]
    assert expired_by_size(disk, NOW + 2 * DAY_MS, 100) == [old]
    assert expired_by_size(disk, NOW + 2 * DAY_MS + 1, 100) == [old, large]


def test_other_directories_are_left_alone() -> None:
    disk = MemoryDisk()
    for path in ("t-0/notes of an operator", "backup", "backup-2.1", "notes/2024", "1.5"):
        disk.make_directory(f"data/set-aside/{path}")
    disk.make_directory("data/set-aside/t-1")
    disk.replace_file("data/set-aside/t-1/notes", b"look at this")
    assert expired_entries(disk, "data", now_ms=NOW, retention_ms=0, max_bytes=0) == []


def test_a_partition_with_other_files_is_kept() -> None:
    disk = MemoryDisk()
    old = entry(disk, "t-0", NOW - 1)
    disk.replace_file("data/set-aside/t-0/notes", b"look at this")
    assert expired_entries(disk, "data", now_ms=NOW, retention_ms=0) == [old]


def test_entries_of_the_earlier_layout_expire_by_the_time_in_their_name() -> None:
    disk = MemoryDisk()
    paths = [f"data/set-aside/a.b-1.{NOW + number}" for number in range(2)]
    for path in paths:
        disk.make_directory(path)
        disk.replace_file(f"{path}/00000000000000000000.log", bytes(60))
    first, second = paths
    assert expired_entries(disk, "data", now_ms=NOW + DAY_MS, retention_ms=DAY_MS) == []
    assert expired_entries(disk, "data", now_ms=NOW + 1, retention_ms=0) == [first]
    assert expired_entries(disk, "data", now_ms=NOW + 2, retention_ms=0) == [first, second]
    assert expired_by_size(disk, NOW + 2 * DAY_MS, 60) == [first]


def test_damaged_bytes_are_set_aside_when_a_log_is_opened() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, "data/t-0", CONFIG, NOW)
    for number in range(6):
        put(log, b"%d" % number * 40)
    log.abandon()
    second = sorted(path for path in disk.nodes if path.endswith(".log"))[1]
    damaged = disk.nodes[second].data
    damaged[HEADER_SIZE + 5] ^= 1
    before = bytes(damaged)
    log = Log.open(disk, "data/t-0", CONFIG, NOW, power_lost=False)
    (lost,) = log.lost_ranges
    path = set_aside_path(MemoryDisk(), "data/t-0", NOW, SetAsideReason.DAMAGED)
    kept = disk.read_file(f"{path}/{lost.start:020d}.bytes")
    assert kept
    assert before.startswith(kept)
    assert not [path for path in disk.list_files("data/t-0") if path.endswith(".damaged")]


def test_what_a_truncation_cuts_off_is_a_log_by_itself() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, "data/t-0", CONFIG, NOW)
    for number in range(6):
        put(log, b"%d" % number * 40)
    path = set_aside_path(disk, "data/t-0", NOW, SetAsideReason.TRUNCATED)
    log.truncate_to(3, set_aside=path)
    aside = Log.open(disk, path, CONFIG, NOW)
    assert [values(log), values(aside)] == [
        [b"%d" % number * 40 for number in range(3)],
        [b"%d" % number * 40 for number in range(3, 6)],
    ]


def test_every_directory_on_the_way_is_synced() -> None:
    disk = MemoryDisk()
    path = entry(disk, "t-0", NOW)
    synced: list[str] = []
    disk.sync_directory = synced.append  # type: ignore[method-assign]
    sync_set_aside(disk, path)
    assert synced == [path, "data/set-aside/t-0", "data/set-aside", "data"]
