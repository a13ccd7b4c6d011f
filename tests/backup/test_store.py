"""Who may read a backup in a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.backup.store import StoredFile, open_store


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """As most accounts have it: what is made is readable for all."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "backups" / "east"))
    store.write("points/1/state.json", b"{}")
    top = tmp_path / "backups" / "east"
    assert mode_of(tmp_path / "backups") == 0o755, "that is not a part of the backup"
    assert [mode_of(each) for each in (top, top / "points", top / "points" / "1")] == [0o700] * 3
    assert mode_of(top / "points" / "1" / "state.json") == 0o600
    assert store.read("points/1/state.json") == b"{}"


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "east"
    folder.mkdir()
    left = folder / "state.json.tmp"
    left.write_bytes(b"of a run that was killed")
    store = open_store(str(folder))
    store.write("state.json", b"{}")
    assert mode_of(folder) == 0o755
    assert mode_of(folder / "state.json") == 0o600
    assert not left.exists()


@pytest.mark.parametrize("looks", [0, 1])
def test_files_that_disappear_while_they_are_listed_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    store = open_store(str(tmp_path))
    store.write("data/1", b"ab")
    store.write("data/2", b"abc")
    stat = Path.stat
    looked = 0

    def delete_first(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        nonlocal looked
        if path.name == "1":
            if looked == looks:
                path.unlink()
            looked += 1
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", delete_first)
    assert StoredFile("data/2", 3) in store.files("data")
