"""Files as the operating system has them."""

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
