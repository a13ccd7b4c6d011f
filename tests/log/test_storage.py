"""Files as the operating system has them."""

import os
from collections.abc import Iterator
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
