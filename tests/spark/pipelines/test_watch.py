"""Pipelines follow the edits of their files, while others run on."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas.cli.pipeline.watch import DefinitionFollower
from barnabas.spark.pipelines import PipelineRun, RunFolder
from barnabas.spark.pipelines.definition.definition_watch import DefinitionWatch
from barnabas.spark.pipelines.definition.definitions import load_each

pytestmark = pytest.mark.xdist_group("spark-processes")

MODULE = """
from barnabas.spark.pipelines import from_files, pipeline, to_memory
from {helper} import marked

@pipeline(sources={{"words": from_files("{words}", "word STRING")}}, sink=to_memory())
def in_python(words):
    return words.select(marked("word"))
"""
HELPER = (
    "from pyspark.sql import functions as F\ndef marked(name): return F.concat(name, F.lit('{}'))"
)


def start_nothing() -> None:
    raise AssertionError("Spark is not needed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two queries, and a pipeline in Python with a module of its own."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "1.json").write_text('{"word": "a"}\n')
    folder = tmp_path / "pipelines"
    folder.mkdir()
    for name in ("steady", "edited"):
        (folder / f"{name}.sql").write_text(query(tmp_path, "word"))
    (folder / "in_python.py").write_text(
        MODULE.format(helper="watched_helper", words=tmp_path / "words")
    )
    (folder / "watched_helper.py").write_text(HELPER.format("!"))
    return folder


def query(folder: Path, columns: str) -> str:
    return (
        f'-- source words: files {folder}/words schema="word STRING"\n-- sink: memory\n'
        f"SELECT {columns} FROM words"
    )


def test_only_what_was_edited_starts_again(
    spark: SparkSession, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipelines = load_each(folder, start_nothing).pipelines.values()
    with PipelineRun(spark, pipelines, "", RunFolder(tmp_path / "runs"), max_restarts=0) as run:
        follower = DefinitionFollower(folder, run, start_nothing)

        def rows(name: str) -> list[tuple[object, ...]]:
            """What a pipeline has written, once it has written all."""
            (query,) = (each for each in run.queries if each.name == name)
            run.wait(lambda: query.progress.rows_out >= 1)
            return sorted(map(tuple, spark.table(name).collect()))

        def after(edit: Callable[[], object]) -> str:
            """What is said of an edit."""
            edit()
            assert follower.poll()
            assert not follower.poll(), "once"
            return capsys.readouterr().err

        assert rows("edited") == [("a",)]
        assert rows("in_python") == [("a!",)]
        steady = {each.name: each for each in run.queries}["steady"]
        assert not follower.poll()

        sql = folder / "edited.sql"
        said = after(lambda: sql.write_text(query(tmp_path, "upper(word)")))
        assert said == "restarted edited with its new definition\n"
        assert rows("edited") == [("A",)]

        said = after(lambda: sql.write_text(query(tmp_path, "upper(wrod)")))
        assert "wrod" in said
        assert "the previous definition keeps running" in said
        assert [each.name for each in follower.bad] == ["edited"]
        said = after(lambda: sql.write_text("-- sink: kitchen\nSELECT 1"))
        assert "kitchen" in said
        assert rows("edited") == [("A",)]
        assert {each.name for each in run.queries} == {"steady", "edited", "in_python"}

        helper = folder / "watched_helper.py"
        said = after(lambda: helper.write_text(HELPER.format("?")))
        assert "restarted in_python" in said
        assert rows("in_python") == [("a?",)]

        said = after(lambda: (folder / "new.sql").write_text(query(tmp_path, "1 AS one")))
        assert "started new" in said
        assert rows("new") == [(1,)]
        said = after(sql.unlink)
        assert "stopped edited: its definition is gone" in said
        assert {each.name for each in run.queries} == {"steady", "in_python", "new"}
        assert steady in run.queries, "it was never touched"
        assert (steady.state, steady.restarts) == ("running", 0)


def test_a_pipeline_depends_on_the_modules_that_its_file_imports(folder: Path) -> None:
    (folder / "watched_helper.py").write_text("import deeper\n" + HELPER.format("!"))
    (folder / "deeper.py").write_text("x = 1")
    (folder / "other.py").write_text("y = 1")
    watch = DefinitionWatch(folder)
    pipelines = watch.load(start_nothing).pipelines
    before = {name: watch.fingerprint(each) for name, each in pipelines.items()}
    (folder / "other.py").write_text("y = 2")
    (folder / "deeper.py").write_text("x = 2")
    assert watch.has_changed()
    after = {name: watch.fingerprint(each) for name, each in pipelines.items()}
    assert {name for name in before if before[name] != after[name]} == {"in_python"}
