"""A folder of twenty pipelines, four of which are wrong: the others run."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas.cli.base.command import UsageError
from barnabas.cli.pipeline.selection import definitions_to_run
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines import PipelineError, PipelineRun, RunFolder
from barnabas.spark.pipelines.definition.definitions import load_each
from tests.cli.conftest import Cli

GOOD = 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pipelines p0 to p15, and three files and a query that are wrong."""
    words = tmp_path / "words"
    words.mkdir()
    (words / "1.json").write_text('{"word": "a"}\n{"word": "b"}\n')
    pipelines = tmp_path / "pipelines"
    pipelines.mkdir()
    source = f'-- source words: files {words} schema="word STRING"\n-- sink: memory\n'
    for each in range(GOOD):
        (pipelines / f"p{each}.sql").write_text(f"{source}SELECT word, {each} AS n FROM words")
    (pipelines / "syntax.py").write_text("from barnabas.spark import pipelines\ndef broken(:\n")
    (pipelines / "sink.sql").write_text("-- source a: topic b\n-- sink: kitchen\nSELECT 1")
    (pipelines / "twice.sql").write_text(f"-- pipeline: p3\n{source}SELECT word FROM words")
    (pipelines / "column.sql").write_text(f"{source}SELECT wrod FROM words")
    return pipelines


def start_nothing() -> None:
    raise AssertionError("Spark is not needed")


def test_the_good_ones_of_a_folder_run(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    found = definitions_to_run(folder, None, start_nothing, strict=False)
    assert {each.name: each.file.name for each in found.bad} == {
        "syntax": "syntax.py",
        "sink": "sink.sql",
        "p3": "twice.sql",
    }
    runs = RunFolder(tmp_path / "runs")
    pipelines = list(found.pipelines.values())
    assert len(pipelines) == GOOD + 1
    with PipelineRun(spark, pipelines, "", runs, once=True, keep_going=True) as run:
        (failed,) = (each for each in run.queries if each.state == "failed")
        assert failed.name == "column"
        assert failed.error is not None
        assert "wrod" in failed.error
        with pytest.raises(PipelineError, match="column: ") as error:
            run.wait()
        assert ";" not in str(error.value), "no other"
    good = [each for each in run.queries if each is not failed]
    assert {(each.state, each.progress.rows_out) for each in good} == {("done", 2)}
    assert runs.status_of("column")["state"] == "failed"
    assert runs.status_of("p3")["state"] == "done"


@pytest.mark.long
def test_what_is_asked_for_has_to_be_right(folder: Path) -> None:
    one = definitions_to_run(folder, ["p1"], start_nothing, strict=False)
    assert (list(one.pipelines), one.bad) == (["p1"], [])
    with pytest.raises(PipelineError, match=r"syntax\.py"):
        definitions_to_run(folder, ["p1", "syntax"], start_nothing, strict=False)
    with pytest.raises(BarnabasError, match="3 errors"):
        definitions_to_run(folder, ["p99"], start_nothing, strict=False)
    with pytest.raises(BarnabasError, match="3 errors"):
        definitions_to_run(folder, None, start_nothing, strict=True)
    with pytest.raises(InvalidArgument, match="kitchen"):
        definitions_to_run(folder / "sink.sql", None, start_nothing, strict=False)
    with pytest.raises(UsageError, match=r"no pipeline 'p99'.*there are p1"):
        definitions_to_run(folder / "p1.sql", ["p99"], start_nothing, strict=False)


def test_check_reports_all_errors(folder: Path) -> None:
    cli = Cli("localhost:1")
    done = cli.run("pipeline", "check", str(folder), "--json")
    assert done.returncode == 1
    errors = {each["pipeline"]: each["error"] for each in json.loads(done.stdout)}
    assert errors["p1"] is None
    assert "kitchen" in errors["sink"]
    assert "syntax.py" in errors["syntax"]
    assert "p1" in cli.ok("pipeline", "check", str(folder / "p1.sql"))


def test_a_folder_without_pipelines_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no pipeline in"):
        load_each(tmp_path, start_nothing)
