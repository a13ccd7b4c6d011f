"""What is wrong with definitions is said before Spark is started, and all of it."""

import os
from pathlib import Path

import pytest

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    PipelineError,
    PipelineRun,
    RunFolder,
    from_files,
    from_table,
    from_topic,
    pipeline,
    to_topic,
)
from barnabas.spark.pipelines.definition.problems import check_definitions, load_all
from barnabas.spark.pipelines.formats.ddl import mistake_in
from barnabas.spark.pipelines.sources.source import Source


@pytest.mark.parametrize(
    ("schema", "mistake"),
    [
        ("id BIGINT shop STRING", "after id BIGINT there is shop: is a comma missing?"),
        ("a ARRAY<STRING>, id BIGINT shop STRING", "after id BIGINT there is shop"),
        ("price DECIMAL(9, 2) shop STRING", "after price DECIMAL there is shop"),
        ("id BIGINT, shop STRNG", "shop STRNG: did you mean STRING?"),
        ("id: BIGNT", "did you mean BIGINT?"),
    ],
)
def test_mistakes_in_schemas_that_are_surely_mistakes(schema: str, mistake: str) -> None:
    assert mistake in (mistake_in(schema) or "nothing")


@pytest.mark.parametrize(
    "schema",
    [
        "page STRING NOT NULL, user STRING, at TIMESTAMP",
        "page string not null comment 'its path, or \"none\"', `a, b` int",
        "m MAP<STRING, STRUCT<a: INT, b: ARRAY<DECIMAL(9, 2)>>>, price DECIMAL(9,2) NOT NULL",
        "a: int, b: struct<c: string, d: int>",
        "a TIMESTAMP WITHOUT TIME ZONE, b DOUBLE PRECISION, c INTERVAL DAY TO SECOND",
        "a STRING COLLATE UNICODE, b VARCHAR(10), c INT DEFAULT 5",
        "struct<a: int, b: string>",
        "geo GEOGRAPHY(4326), x VARIANT",
        "timestamp TIMESTAMP, date DATE",
        "int",
        "",
    ],
)
def test_what_may_be_right_is_left_to_spark(schema: str) -> None:
    assert mistake_in(schema) is None


def defined(name: str, **sources: Source) -> object:
    called = ", ".join(sources)
    return pipeline(name=name, sources=sources, sink=to_topic("t"))(eval(f"lambda {called}: None"))


def test_all_mistakes_are_said_together_one_in_a_line() -> None:
    good = defined("good", a=from_topic("a", "x INT"), b=from_table("b", "x INT"))
    bad = defined("bad", a=from_topic("a", "x INT y INT"), b=from_files("b", "x INTT"))
    still = defined("still", b=from_table("b", "x INT"))
    check_definitions([good])
    with pytest.raises(InvalidArgument) as caught:
        check_definitions([good, bad, still])
    assert str(caught.value).splitlines() == [
        "3 errors:",
        "  pipeline bad: schema of source a: after x INT there is y: is a comma missing?",
        "  pipeline bad: schema of source b: x INTT: did you mean INT?",
        "  pipeline still has no streaming source: its rows would never change",
    ]


def test_who_takes_the_session_may_read_a_stream_with_it() -> None:
    @pipeline(sources={"b": from_table("b", "x INT")}, sink=to_topic("t"))
    def reads(spark: object, b: object) -> None: ...

    check_definitions([reads])


def test_all_files_of_a_folder_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- sink: topic t kee=x\nSELECT 1")
    (tmp_path / "b.py").write_text("import nothing_of_that_name  # for a pipeline\n")
    (tmp_path / "c.sql").write_text("-- source x: topic x\n-- sink: topic t\nSELECT * FROM x")
    (tmp_path / "d.py").write_text("SPEAKS_OF = 'a pipeline'\n")
    with pytest.raises(PipelineError) as caught:
        load_all(tmp_path, lambda: None)
    first, *lines = str(caught.value).splitlines()
    assert first == "2 errors:"
    assert "a.sql: sink: no argument 'kee'" in lines[0]
    assert "b.py:1: ModuleNotFoundError" in lines[1]
    (tmp_path / "b.py").unlink()
    with pytest.raises(InvalidArgument, match=r"a\.sql: sink: no argument 'kee'"):
        load_all(tmp_path, lambda: None)
    (tmp_path / "a.sql").unlink()
    assert list(load_all(tmp_path, lambda: None)) == ["c"]


def test_a_run_says_all_that_is_wrong_before_it_begins(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    locks = [folder.lock(name) for name in ("p", "q")]
    both = [defined(name, a=from_topic("a")) for name in ("p", "q")]
    with pytest.raises(PipelineError) as caught:
        PipelineRun(None, both, "", folder).start()
    assert [line.split(" is already")[0] for line in str(caught.value).splitlines()] == [
        "2 errors:",
        "  pipeline p",
        "  pipeline q",
    ]
    for each in locks:
        os.close(each)
