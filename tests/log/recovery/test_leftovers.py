"""Files that interrupted operations leave in a partition's directory."""

from barnabas.log.recovery.leftovers import remove_leftovers, usable_snapshots
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"


def made(*names: str) -> tuple[MemoryDisk, dict[str, int]]:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    for name in names:
        disk.replace_file(f"{DIRECTORY}/{name}", b"x")
    return disk, disk.list_files(DIRECTORY)


def test_incomplete_and_deleted_files_and_lone_indexes_are_removed() -> None:
    kept = {f"{0:020d}.log", f"{0:020d}.index", "log.state", "partition.metadata"}
    disk, listing = made(
        *kept,
        f"{0:020d}.log.deleted",
        f"{5:020d}.log.cleaned",
        "log.state.tmp",
        f"{5:020d}.index",
        f"{5:020d}.timeindex",
        f"{5:020d}.txnindex",
    )
    remove_leftovers(disk, DIRECTORY, listing)
    assert listing.keys() == kept
    assert disk.list_files(DIRECTORY).keys() == kept


def test_snapshots_behind_the_end_are_removed() -> None:
    disk, listing = made(f"{7:020d}.snapshot", f"{3:020d}.snapshot", f"{8:020d}.snapshot", "a")
    assert usable_snapshots(disk, DIRECTORY, listing, 7) == [3, 7]
    assert f"{8:020d}.snapshot" not in disk.list_files(DIRECTORY)
