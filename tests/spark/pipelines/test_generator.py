"""Rows that are made up: rules, rates, and the same rows when they are read again."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_generator,
    load,
    pipeline,
)
from barnabas.spark.pipelines.sources.generator import RowNumbers
from barnabas.spark.testing import running

COLUMNS = """
    id BIGINT sequence(100, 2), user STRING choice(ann, bob, c d),
    amount DECIMAL(9, 2) uniform(1, 9), age INT uniform(18, 20), size DOUBLE normal(10, 2),
    day DATE uniform(2026-01-01, 2026-01-31), due TIMESTAMP, token STRING uuid,
    at TIMESTAMP timestamps(2026-01-01T00:00:00Z, 2 seconds), word STRING text(40), ok BOOLEAN
"""

Run = Callable[[Pipeline], None]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ("", "name columns"),
        ("id", "'id': write a column as NAME TYPE"),
        ("id BIGINT sequense", "column id BIGINT sequense: unknown rule 'sequense'; use sequence,"),
        ("a MAP<INT", "write a column as"),
        ("a VARIANT", "column a: type VARIANT can't be generated; use BIGINT, BOOLEAN"),
        ("at TIMESTAMP uuid", "column at TIMESTAMP uuid: uuid is for STRING"),
        ("n INT uniform(1)", r"column n INT uniform: write uniform\(LOW, HIGH\)"),
        ("n INT uniform(9, 1)", "column n INT uniform: 9 is more than 1"),
        ("n INT uniform(1.5, 2)", r"column n INT uniform: invalid literal.*1\.5"),
        ("d DATE uniform(x, y)", "column d DATE uniform: Invalid isoformat string: 'x'"),
        ("t STRING text(0)", "column t STRING text: a length is 1 to 10000"),
        ("t TIMESTAMP timestamps(2026-01-01, soon)", "'soon' is not a duration"),
        ("a INT, a INT", "column a is defined twice"),
    ],
)
def test_a_wrong_rule_is_named(columns: str, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        from_generator(columns)


@pytest.mark.parametrize("name", ["rows_per_second", "count", "max_rows_per_batch"])
def test_a_wrong_number_is_named(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} is . or more, not -1"):
        from_generator("id INT", **{name: -1})


def test_rows_are_due_at_their_rate() -> None:
    numbers = RowNumbers(10, None, 1_000)
    start = {"row": 0, "began_us": numbers.initial()["began_us"] - 3_000_000}
    end = numbers.latest(start)
    assert 31 <= end["row"] < 1_000
    assert end["began_us"] == start["began_us"]
    assert numbers.latest({**start, "row": 500}) == {**start, "row": 500}, "none is due"
    assert RowNumbers(10, 20, 1_000).latest(start)["row"] == 20
    assert RowNumbers(10, None, 5).latest(start)["row"] == 5
    numbers.bound(start)
    last = numbers.latest(start)
    assert numbers.latest(last) == last, "a bounded run ends, whatever the time"
    endless = RowNumbers(0, None, 5)
    endless.bound({**start, "row": 7})
    assert endless.latest({**start, "row": 7})["row"] == 12
    assert endless.latest({**start, "row": 12})["row"] == 12


def test_a_batch_is_divided_without_gaps() -> None:
    numbers = RowNumbers(0, None, 1_000_000)
    parts = numbers.split({"row": 3, "began_us": 7}, {"row": 200_003, "began_us": 9})
    assert len(parts) == 8
    found = [n for part in parts for each in numbers.read(*part) for n in each["n"].to_pylist()]
    assert found == list(range(3, 200_003))
    assert all(part[1]["began_us"] == 9 for part in parts), "what the checkpoint has"


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    def run(defined: Pipeline) -> None:
        folder = RunFolder(tmp_path / "runs")
        with PipelineRun(spark, [defined], "nowhere:9", folder, once=True, max_restarts=3) as each:
            each.wait()

    return run


def test_rows_are_the_same_when_a_batch_repeats(run: Run) -> None:
    batches: list[list[dict[str, object]]] = []

    @for_each_batch
    def fails_once(rows: DataFrame, number: int) -> None:
        batches.append([each.asDict() for each in rows.orderBy("id").collect()])
        if len(batches) == 2:
            raise RuntimeError("after the second batch")

    @pipeline(
        sources={"rows": from_generator(COLUMNS, count=25, seed=7, max_rows_per_batch=10)},
        sink=fails_once,
    )
    def made(rows: DataFrame) -> DataFrame:
        return rows

    run(made)
    assert batches.pop(1) == batches[1], "the batch that failed came again"
    rows = [row for batch in batches for row in batch]
    assert [len(each) for each in batches] == [10, 10, 5]
    assert [row["id"] for row in rows] == list(range(100, 150, 2))
    assert {row["user"] for row in rows} == {"ann", "bob", "c d"}
    assert {row["age"] for row in rows} == {18, 19, 20}
    assert all(Decimal(1) <= row["amount"] <= Decimal(9) for row in rows)
    assert {row["ok"] for row in rows} == {True, False}
    assert all(str(row["day"]).startswith("2026-01-") for row in rows)
    assert rows[3]["at"].astimezone(UTC) == datetime(2026, 1, 1, 0, 0, 6, tzinfo=UTC)
    assert len({row["token"] for row in rows}) == 25
    assert all(len(row["word"]) == 40 for row in rows)
    run(made)
    assert len(batches) == 3, "all have come"


def test_in_sql_and_in_a_test(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "made.sql").write_text(
        '-- source rows: generator "id INT sequence, name STRING" rows_per_second=0'
        " count=3 seed=4\n"
        "-- sink: memory\n"
        "SELECT id + 1 AS next, name FROM rows\n"
    )
    made = load(tmp_path / "made.sql")["made"]
    assert made.sources["rows"] == from_generator(
        "id INT sequence, name STRING", rows_per_second=0, count=3, seed=4
    )
    with running(made, spark=spark) as tested:
        tested.feed("rows", {"id": 1, "name": "x"})
        assert tested.rows() == [{"next": 2, "name": "x"}]
