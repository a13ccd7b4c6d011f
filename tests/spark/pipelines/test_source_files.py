"""A folder of definitions may also hold what other processes write and delete."""

import os
import shutil
from pathlib import Path

import pytest

from barnabas.spark.pipelines.definition.definition_watch import DefinitionWatch
from barnabas.spark.pipelines.definition.loader import definition_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a subfolder that is deleted just before it is read."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders.sql").write_text("-- sink: topic bills\nSELECT * FROM orders")
    staged = tmp_path / "table" / "_temporary"
    staged.mkdir(parents=True)
    scan = os.scandir

    def delete_first(path: int | str | Path = ".") -> object:
        if str(path) == str(staged):
            shutil.rmtree(staged)
        return scan(path)

    monkeypatch.setattr(os, "scandir", delete_first)
    return tmp_path


def test_definitions_are_found_while_a_subfolder_disappears(folder: Path) -> None:
    assert definition_files(folder) == [folder / "shop" / "orders.sql"]
    assert not (folder / "table" / "_temporary").exists()


def test_edits_are_noticed_while_a_subfolder_disappears(folder: Path) -> None:
    watch = DefinitionWatch(folder)
    assert not (folder / "table" / "_temporary").exists()
    (folder / "shop" / "bills.py").write_text("")
    assert watch.has_changed()


def test_hidden_folders_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "site.py").write_text("pipeline")
    watch = DefinitionWatch(tmp_path)
    (tmp_path / ".venv" / "site.py").write_text("pipeline, edited")
    assert definition_files(tmp_path) == []
    assert not watch.has_changed()
