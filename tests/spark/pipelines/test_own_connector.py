"""A connector that somebody else has written: one class, as docs/connectors.md shows it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.row_batches import RowError, row_batches
from barnabas.spark.pipelines import Connector, PipelineError, from_connector, load, to_connector
from barnabas.spark.testing import run_once, running
from tests.examples.documents import ROOT

_FILE = re.compile(
    r"^```(?:python|sql)\n(?:#|--) (\w+\.(?:py|sql))\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the document."""
    for name, text in _FILE.findall((ROOT / "docs" / "connectors.md").read_text()):
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("line_file", None)


def test_the_connector_of_the_document_and_its_test(spark: SparkSession, folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    names: dict[str, Any] = {}
    exec((folder / "test_line_file.py").read_text(), names)
    names["test_notes_become_loud"](work)
    loud = names["loud_notes"].resolved(work)
    with (work / "notes.txt").open("a") as file:
        file.write("ne\n")
    run_once(loud, bootstrap_servers="nowhere:9", checkpoints=work, spark=spark)
    run_once(loud, bootstrap_servers="nowhere:9", checkpoints=work, spark=spark)
    written = sorted("".join(each.read_text() for each in (work / "loud").iterdir()).splitlines())
    assert written == ['{"line": "HALF A LINE"}', '{"line": "ONE"}', '{"line": "TWO"}']
    with running(loud, spark=spark) as tested:
        tested.feed("notes", {"line": "x"})
        assert tested.rows() == [{"line": "X"}]


def test_an_error_of_its_own_is_shown(spark: SparkSession, folder: Path) -> None:
    loud = load(folder / "line_file.py")["loud_notes"]
    with pytest.raises(PipelineError, match=r"No such file or directory: .*notes\.txt"):
        run_once(loud, bootstrap_servers="nowhere:9", checkpoints=folder, spark=spark)


def test_every_file_of_the_document_can_be_loaded(folder: Path) -> None:
    for file in folder.iterdir():
        if file.suffix in (".py", ".sql") and not file.name.startswith("test_"):
            assert load(file)


@pytest.mark.usefixtures("folder")
def test_a_class_is_named_in_sql(tmp_path: Path) -> None:
    def loaded(source: str) -> object:
        (tmp_path / "p.sql").write_text(f"-- source notes: {source}\n-- sink: memory\nSELECT 1")
        return load(tmp_path / "p.sql")["p"].sources["notes"]

    found = loaded("connector line_file:LineFile path=notes.txt")
    assert found.describe() == f"lines in {tmp_path / 'notes.txt'}"
    for source, complaint in (
        ("connector line_file", "name a class as module:Class"),
        ("connector line_file:Line path=x", "line_file:Line is not a class that extends"),
        ("connector no_such:Line path=x", "can't import no_such: No module named 'no_such'"),
        ("connector line_file:LineFile", "missing a required argument: 'path'"),
        ("connector line_file:LineFile path=x of=y", "got an unexpected keyword argument 'of'"),
    ):
        with pytest.raises(InvalidArgument, match=f"source notes: .*{complaint}"):
            loaded(source)


def test_what_it_lacks_is_named() -> None:
    class Nothing(Connector):
        pass

    with pytest.raises(InvalidArgument, match="Nothing has no method read"):
        from_connector(Nothing())
    with pytest.raises(InvalidArgument, match="Nothing has no method write"):
        to_connector(Nothing())
    with pytest.raises(InvalidArgument, match="unknown argument 'path'"):
        to_connector(Nothing(), path="x")


def test_rows_that_do_not_fit_the_schema_are_refused(spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL("id INT NOT NULL, name STRING")
    (batch,) = row_batches([{"id": 1}, (2, "b")], schema)
    assert batch.to_pylist() == [{"id": 1, "name": None}, {"id": 2, "name": "b"}]
    for row, complaint in (
        ({"id": 1, "nmae": "x"}, "column 'nmae' is not in the schema"),
        ({"name": "x"}, "column id is NOT NULL, and a row has no value for it"),
        ({"id": "one"}, "column id is not int32: .*'one'"),
        ((1,), "a row has 1 values, the schema 2 columns"),
    ):
        with pytest.raises(RowError, match=complaint):
            list(row_batches([row], schema))
