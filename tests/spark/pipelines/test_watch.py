"""Pipelines follow the edits of their files, while others run on."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import barnabas
from barnabas.cli.pipeline.control import PipelineControl
from barnabas.cli.pipeline.watch import DefinitionFollower
from barnabas.flow.reports import key_of
from barnabas.flow.requests import TOPIC, Action, PipelineRequest, encode
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import PipelineRun, RunFolder
from barnabas.spark.pipelines.definition.definition_watch import DefinitionWatch
from barnabas.spark.pipelines.definition.definitions import load_each
from barnabas.spark.pipelines.run.control_requests import ControlRequests
from tests.support.wait import wait_until

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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two queries, and a pipeline in Python with a module of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
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
    yield folder
    for name in ("in_python", "watched_helper", "deeper", "other"):
        sys.modules.pop(name, None)  # the next test has other ones of these names


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


def test_users_stop_and_restart_pipelines(
    spark: SparkSession, folder: Path, tmp_path: Path, bootstrap: str
) -> None:
    runs = RunFolder(tmp_path / "runs")
    in_table = query(tmp_path, "word").replace(
        "sink: memory", f"sink: parquet {tmp_path / 'table'}"
    )
    (folder / "steady.sql").write_text(in_table)
    pipelines = load_each(folder, start_nothing).pipelines.values()
    requests = ControlRequests(ClusterAddress(bootstrap))
    control = PipelineControl(requests, runs)
    wait_until(lambda: requests.is_listening)
    with (
        closing(control),
        barnabas.Producer(bootstrap) as producer,
        PipelineRun(spark, pipelines, "", runs, max_restarts=0) as run,
    ):
        follower = DefinitionFollower(folder, run, start_nothing)

        def states() -> dict[str, str]:
            return {each.name: each.state for each in run.queries}

        def wait_for_rows(name: str) -> None:
            (query,) = (each for each in run.queries if each.name == name)
            run.wait(lambda: query.progress.rows_out >= 1)

        def ask(name: str, action: Action, pid: int) -> PipelineRequest:
            place = {"host": socket.gethostname(), "folder": str(runs.folder), "pipeline": name}
            request = PipelineRequest(uuid4().hex, key_of(place), pid, action)
            producer.send(TOPIC, encode(request)).result()
            return request

        def answer(name: str, action: Action) -> str:
            producer.send(TOPIC, b"nonsense")
            ask("steady", "stop", os.getpid() + 1)  # of another process: not for us
            request = ask(name, action, os.getpid())

            def answered() -> str | None:
                control.poll(run, lambda: follower)
                (status,) = control.marked([{"pipeline": name}])
                return status["answer"] if status.get("answered") == request.id else None

            return wait_until(answered)

        assert "stopped" in answer("edited", "stop")
        assert states() == {"steady": "running", "edited": "stopped", "in_python": "running"}
        assert not run.is_over
        (folder / "edited.sql").write_text(query(tmp_path, "upper(word)"))
        assert "restarted with its definition as it is now" in answer("edited", "restart")
        wait_for_rows("edited")
        assert sorted(map(tuple, spark.table("edited").collect())) == [("A",)]
        (folder / "edited.sql").write_text(query(tmp_path, "upper(wrod)"))
        said = answer("edited", "restart")
        assert said.startswith("It was not restarted")
        assert "wrod" in said
        assert states()["edited"] == "running"
        wait_for_rows("steady")
        by_spark = query(tmp_path, "word, count(*) AS n") + " GROUP BY word"  # without a watermark
        by_the_table = in_table  # it is of another pipeline
        for refused in (by_spark, by_the_table):
            (folder / "edited.sql").write_text(refused)
            said = answer("edited", "restart")
            assert said.startswith("It was not restarted")
            assert "the previous definition keeps running" in said
            assert states()["edited"] == "running"
            wait_for_rows("edited")
            assert sorted(map(tuple, spark.table("edited").collect())) == [("A",)]
        (folder / "edited.sql").unlink()
        assert "its definition is gone" in answer("edited", "restart")
        assert states() == {"steady": "running", "edited": "running", "in_python": "running"}
        wait_until(lambda: control.marked([{"pipeline": "steady"}])[0]["control"] == "on")
        control.close()
        assert control.marked([{"pipeline": "steady"}])[0]["control"] is None


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
