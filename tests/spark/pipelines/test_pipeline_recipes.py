"""What the pages on pipelines and docs/recipes.md show does what it says, on fed rows."""

import re
import sqlite3
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import barnabas
from barnabas.spark.pipelines import Pipeline, load
from barnabas.spark.testing import START, Record, running
from tests.examples.documents import ROOT

_FILE = re.compile(
    r"^```(?:python|sql)\n(?:#|--) (\w+\.(?:py|sql))\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the documents."""
    folder = tmp_path_factory.mktemp("recipes")
    for document in ("pipelines.md", "custom-sinks.md", "recipes.md"):
        for name, text in _FILE.findall((ROOT / "docs" / document).read_text()):
            assert not (folder / name).exists(), name
            (folder / name).write_text(text)
    yield folder
    sys.path.remove(str(folder))
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)


@pytest.fixture(scope="module")
def recipes(folder: Path) -> dict[str, Pipeline]:
    return load(folder) | load(ROOT / "examples" / "wordcount.sql")


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("test_views.py", "test_a_late_view_counts"),
        ("test_readings_checked.py", "test_an_impossible_reading_is_a_dead_letter"),
        ("test_silence.py", "test_a_silent_sensor_is_told_of_and_when_it_is_back"),
    ],
)
def test_the_tests_of_the_documents_pass(
    spark: SparkSession, folder: Path, recipes: dict[str, Pipeline], file: str, test: str
) -> None:
    names: dict[str, Any] = {"__file__": str(folder / file)}
    exec((folder / file).read_text(), names)
    names[test]()


def test_the_test_from_end_to_end_passes(
    spark: SparkSession,
    folder: Path,
    recipes: dict[str, Pipeline],
    barnabas_cluster: barnabas.Cluster,
    tmp_path: Path,
) -> None:
    names: dict[str, Any] = {}
    exec((folder / "test_end_to_end.py").read_text(), names)
    names["test_views_are_counted"](barnabas_cluster, tmp_path)


def test_records_are_filtered_and_split(spark: SparkSession, recipes: dict[str, Pipeline]) -> None:
    with running(recipes["errors_by_tag"], spark=spark) as run:
        run.feed(
            "lines",
            {"level": "error", "text": "full", "tags": ["disk", "db"]},
            {"level": "info", "text": "fine", "tags": ["disk"]},
            {"level": "error", "text": "nobody's", "tags": []},
        )
        assert run.rows() == [{"tag": "disk", "text": "FULL"}, {"tag": "db", "text": "FULL"}]


def test_words_are_counted(spark: SparkSession, recipes: dict[str, Pipeline]) -> None:
    with running(recipes["wordcount"], spark=spark) as run:
        run.feed("lines", "all streams lead to Kafka")
        run.feed("lines", "Hello Kafka Streams!")
        counts = {each["key"]: each["value"] for each in run.rows()}
        assert counts == {
            "all": "1", "lead": "1", "to": "1", "streams": "2", "kafka": "2", "hello": "1"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("by_minute", [("/", 0, 1, 2), ("/", 1, 2, 1)]),
        ("lately", [("/", -5, 5, 3), ("/", 0, 10, 4)]),
        ("visits", [("ada", 0.1, 39, 4)]),
    ],
)
def test_windows_take_what_is_late_but_not_what_is_too_late(
    spark: SparkSession,
    recipes: dict[str, Pipeline],
    name: str,
    expected: list[tuple[str, float, float, int]],
) -> None:
    def view(minutes: float) -> dict[str, object]:
        return {"page": "/", "user": "ada", "at": at(minutes)}

    with running(recipes[name], spark=spark) as run:
        run.feed("views", view(0.2), view(1.5), view(9))
        run.feed("views", view(0.1))  # out of order, and in time
        assert run.rows() == []
        run.feed("views", view(60))
        run.feed("views", view(0.3))  # fifty minutes behind: too late
        found = [
            (
                each.get("page", each.get("user")),
                *(
                    (each[kind][side] - START) / timedelta(minutes=1)
                    for kind in each.keys() & {"window", "session_window"}
                    for side in ("start", "end")
                ),
                each["count"],
            )
            for each in run.rows()
        ]
        assert sorted(found)[: len(expected)] == expected
        assert sum(each["count"] for each in run.rows()) == {"lately": 8}.get(name, 4)


def test_streams_are_joined_and_those_without_a_partner_given_up_or_told_of(
    spark: SparkSession, recipes: dict[str, Pipeline]
) -> None:
    pair = {"page": "/a", "view": "a", "viewed": at(1), "clicked": at(2)}
    alone = {"page": "/b", "view": "b", "viewed": at(1), "clicked": None}
    for name, expected in (("clicks_on_pages", []), ("views_and_clicks", [alone])):
        with running(recipes[name], spark=spark) as run:
            run.feed(
                "clicks",
                {"clicked_view": "a", "clicked": at(2)},
                {"clicked_view": "b", "clicked": at(12)},
            )
            run.feed(
                "views",
                {"view": "a", "page": "/a", "viewed": at(1)},
                {"view": "b", "page": "/b", "viewed": at(1)},  # eleven minutes are too long
            )
            assert run.new_rows() == [pair]
            run.feed("clicks", {"clicked_view": "x", "clicked": at(60)})
            assert run.new_rows() == [], "the views are behind, and may bring more"
            run.feed("views", {"view": "y", "page": "/y", "viewed": at(60)})
            assert run.new_rows() == expected


def test_a_stream_is_joined_with_a_table_as_it_is(
    spark: SparkSession, recipes: dict[str, Pipeline]
) -> None:
    with running(recipes["views_by_country"], spark=spark) as run:
        run.feed("users", {"user": "ada", "country": "UK"}, {"user": "bob", "country": "NZ"})
        run.feed("users", {"user": "ada", "country": "FR"}, Record(None, key="bob"))
        run.feed("views", {"page": "/", "user": "ada", "at": at(1)})
        run.feed("views", {"page": "/", "user": "bob", "at": at(2)})  # was deleted
        run.feed("views", {"page": "/", "user": "ada", "at": at(90)})
        assert run.rows() == [{"country": "FR", "hour": START, "views": 1}]


def test_tables_are_joined_as_they_change(
    spark: SparkSession, recipes: dict[str, Pipeline]
) -> None:
    ada = '{"customer":"1","name":"%s","city":"London"}'
    with running(recipes["customers"], spark=spark) as run:
        run.feed("names", {"customer": "1", "name": "Ada"}, {"customer": "2", "name": "Bob"})
        run.feed("addresses", {"customer": "1", "city": "London"})
        assert run.new_rows()[-1] == {"key": "1", "value": ada % "Ada"}
        run.feed("names", {"customer": "1", "name": "Lady Ada"}, Record(None, key="2"))
        new = {each["key"]: each["value"] for each in run.new_rows()}
        assert new == {"1": ada % "Lady Ada", "2": None}
        run.feed("addresses", Record(None, key="1"))
        assert run.new_rows() == [{"key": "1", "value": None}], "deleted from the result too"


def test_a_database_has_what_the_topic_says(
    spark: SparkSession,
    recipes: dict[str, Pipeline],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    stock: Any = sys.modules["stock"]
    monkeypatch.setattr(stock, "DATABASE", str(tmp_path / "stock.db"))
    for rows in ([("pen", 5), ("ink", 1)], [("pen", 3)], [("pen", 3)]):
        stock.upsert(spark.createDataFrame(rows, "item STRING, amount INT"), 0)
    with sqlite3.connect(tmp_path / "stock.db") as database:
        assert dict(database.execute("SELECT item, amount FROM stock")) == {"pen": 3, "ink": 1}
    assert recipes["stock"].sink.describe() == "upsert()"
