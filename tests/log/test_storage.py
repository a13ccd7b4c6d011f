"""Files as the operating system has them."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.log.storage import OsDisk


def test_files_that_are_deleted_meanwhile_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old segments go while a compaction looks for what another one has left."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"1234")
    scandir = os.scandir

    @contextmanager
    def slow_scandir(directory: str) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(directory) as entries:
            found = list(entries)
        (tmp_path / "b").unlink()
        yield found

    monkeypatch.setattr(os, "scandir", slow_scandir)
    assert OsDisk().list_files(str(tmp_path)) == {"a": 4, "c": 4}


def test_a_read_that_is_cut_short_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short read would be taken for the end of a log."""
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 3), at))
    path = str(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"0123456789")
    file = OsDisk().open(path)
    assert file.read(8, 1) == b"12345678"
    assert file.read(8, 5) == b"56789"
    file.close()


def test_a_file_that_can_not_be_read_is_not_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node without its vote would vote again."""
    disk = OsDisk()
    (tmp_path / "a").touch()
    assert disk.exists(str(tmp_path / "a"))
    assert not disk.exists(str(tmp_path / "b"))
    assert not disk.exists(str(tmp_path / "a" / "c"))

    def failing(*_: object, **__: object) -> os.stat_result:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(OSError, match="Input/output error"):
        disk.exists(str(tmp_path / "a"))


class SystemCalls:
    """Which files were synced and renamed, in order; the real calls are made too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._noting(name, getattr(os, name)))
        rename = os.rename

        def noted_rename(source: str, target: str) -> None:
            self.seen.append(f"rename to {Path(target).name}")
            rename(source, target)

        monkeypatch.setattr(os, "rename", noted_rename)

    def _noting(self, name: str, call: Callable[[int], None]) -> Callable[[int], None]:
        def noted(fd: int) -> None:
            path = Path(f"/proc/self/fd/{fd}").resolve()
            self.seen.append(f"{name} {path.name}, {path.stat().st_size} bytes")
            call(fd)

        return noted


@pytest.mark.skipif(sys.platform != "linux", reason="about the kernel of Linux")
def test_a_replaced_file_is_durable_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First its content, then its name: a power loss must leave the old file or the new one."""
    directory = tmp_path / "data"
    directory.mkdir()
    calls = SystemCalls(monkeypatch)
    OsDisk().replace_file(str(directory / "state"), b"1234", sync=True)
    content, name, names = calls.seen
    assert content == "fsync state.tmp, 4 bytes"
    assert name == "rename to state"
    assert names.startswith("fsync data, ")
    calls.seen.clear()
    OsDisk().replace_file(str(directory / "state"), b"12345")
    assert calls.seen == ["rename to state"]


@pytest.mark.skipif(sys.platform != "linux", reason="about the kernel of Linux")
def test_a_sync_of_a_file_reaches_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = SystemCalls(monkeypatch)
    file = OsDisk().open(str(tmp_path / "log"), create=True)
    file.write(b"1234", 0)
    assert calls.seen == []
    file.sync()
    assert calls.seen == ["fdatasync log, 4 bytes"]
    file.close()
