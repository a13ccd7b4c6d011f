"""Directories in use stay, abandoned ones are removed."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from barnabas.embedded import storage


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(storage, "MEMORY", tmp_path)
    monkeypatch.setattr(storage, "_ENOUGH_BYTES", 1)
    return tmp_path


def _age(path: Path) -> None:
    old = time.time() - 3600
    os.utime(path, (old, old))


def test_what_is_left_behind_is_cleared_away_by_the_next_one(place: Path) -> None:
    left, lock = storage.new_directory()
    (left / "node-1").mkdir()
    used, other_lock = storage.new_directory()
    young, young_lock = storage.new_directory()
    foreign = place / "foreign"
    foreign.mkdir()
    for path in (left, used, foreign):
        _age(path)
    os.close(lock)  # as at the end of a process
    os.close(young_lock)
    new, new_lock = storage.new_directory()
    assert sorted(place.iterdir()) == sorted([used, young, foreign, new])
    os.close(other_lock)
    os.close(new_lock)


def test_without_enough_memory_it_is_a_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(storage, "_ENOUGH_BYTES", 1 << 60)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    path, lock = storage.new_directory()
    assert path.parent == elsewhere
    monkeypatch.setattr(storage, "MEMORY", tmp_path / "missing")
    monkeypatch.setattr(storage, "_ENOUGH_BYTES", 1)
    other, other_lock = storage.new_directory()
    assert other.parent == elsewhere
    os.close(lock)
    os.close(other_lock)


def test_a_place_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("BARNABAS_TEST_DIRECTORY", str(own))
    path, lock = storage.new_directory()
    assert path.parent == own
    os.close(lock)


def test_removing_is_thorough(place: Path) -> None:
    path, lock = storage.new_directory()
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "file").write_bytes(b"x")
    storage.remove(path)
    assert not list(place.iterdir())
    storage.remove(path)
    os.close(lock)
