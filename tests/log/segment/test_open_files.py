"""The cap on open descriptors."""

import errno
from pathlib import Path

import pytest

from barnabas.log.segment.open_files import Handle, OpenFiles
from barnabas.log.storage import File, OsDisk
from tests.log.memory_disk import MemoryDisk


def test_never_more_open_than_the_limit_and_all_usable() -> None:
    disk = MemoryDisk()
    files = OpenFiles(disk, limit=4)
    handles = [Handle(files, f"d/{number}") for number in range(10)]
    for handle in handles:
        handle.create().write(handle.path.encode(), 0)
        assert disk.open_files <= 4
    for handle in handles * 3:
        assert handle.file().read(100, 0) == handle.path.encode()
        assert disk.open_files == files.count == 4
    for handle in handles:
        handle.close()
    assert disk.open_files == files.count == 0


def test_a_handle_in_use_outlives_idle_ones() -> None:
    disk = MemoryDisk()
    files = OpenFiles(disk, limit=2)
    busy = Handle(files, "d/busy")
    first = busy.create()
    for number in range(6):
        Handle(files, f"d/{number}").create()
        assert busy.file() is first


def test_a_duplicate_survives_close_and_unlink(tmp_path: Path) -> None:
    disk = OsDisk()
    handle = Handle(OpenFiles(disk), f"{tmp_path}/f")
    handle.create().write(b"abc", 0)
    copy = handle.duplicate()
    handle.close()
    disk.unlink(handle.path)
    assert copy.read(10, 0) == b"abc"
    copy.sync()
    copy.close()
    with pytest.raises(FileNotFoundError):
        handle.file()


def test_a_system_that_allows_fewer_is_obeyed() -> None:
    class Stingy(MemoryDisk):
        def open(self, path: str, *, create: bool = False) -> File:
            if self.open_files >= 8:
                raise OSError(errno.EMFILE, "Too many open files")
            return super().open(path, create=create)

    disk = Stingy()
    files = OpenFiles(disk, limit=100)
    handles = [Handle(files, f"d/{number}") for number in range(30)]
    for handle in handles:
        handle.create().write(handle.path.encode(), 0)
    for handle in handles:
        assert handle.file().read(100, 0) == handle.path.encode()
    assert files.limit <= 8
