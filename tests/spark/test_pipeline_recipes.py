"""What docs/pipelines.md shows does what it says."""

import re
import sqlite3
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from barnabas.spark.pipelines import Pipeline, load
from barnabas.spark.testing import START, Record, running
from tests.examples.documents import ROOT

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.long]

_FILE = re.compile(
    r"^```(?:python|sql)\n(?:#|--) (\w+\.(?:py|sql))\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the document."""
    folder = tmp_path_factory.mktemp("recipes")
    for name, text in _FILE.findall((ROOT / "docs" / "pipelines.md").read_text()):
        (folder / name).write_text(text)
    yield folder
    sys.path.remove(str(folder))
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)


@pytest.fixture(scope="module")
def recipes(folder: Path) -> dict[str, Pipeline]:
    return load(folder)


def at(minutes: int) -> Any:
    return START + timedelta(minutes=minutes)


def test_the_test_of_the_document_passes(
    spark: SparkSession, folder: Path, recipes: dict[str, Pipeline]
) -> None:
    names: dict[str, Any] = {}
    exec((folder / "test_views.py").read_text(), names)
    names["test_a_late_view_counts"]()


def test_words_are_counted(spark: SparkSession, recipes: dict[str, Pipeline]) -> None:
    with running(recipes["wordcount"], spark=spark) as run:
        run.feed("lines", "all streams lead to Kafka")
        run.feed("lines", "Hello Kafka Streams!")
        counts = {each["word"]: each["count"] for each in run.rows()}
        assert counts == {"all": 1, "lead": 1, "to": 1, "streams": 2, "kafka": 2, "hello": 1}


def test_clicks_find_their_views(spark: SparkSession, recipes: dict[str, Pipeline]) -> None:
    with running(recipes["clicks_on_pages"], spark=spark) as run:
        run.feed("clicks", {"view": "a", "clicked": at(2)}, {"view": "b", "clicked": at(12)})
        run.feed(
            "views",
            {"view": "a", "page": "/a", "viewed": at(1)},
            {"view": "b", "page": "/b", "viewed": at(1)},  # eleven minutes are too long
        )
        assert run.rows() == [{"page": "/a", "view": "a", "viewed": at(1), "clicked": at(2)}]


def test_tables_are_joined_as_they_change(
    spark: SparkSession, recipes: dict[str, Pipeline]
) -> None:
    with running(recipes["customers"], spark=spark) as run:
        run.feed("names", {"customer": "1", "name": "Ada"}, {"customer": "2", "name": "Bob"})
        run.feed("addresses", {"customer": "1", "city": "London"})
        assert run.new_rows() == [{"customer": "1", "name": "Ada", "city": "London"}]
        run.feed("names", {"customer": "1", "name": "Lady Ada"}, Record(None, key="2"))
        run.feed("addresses", {"customer": "2", "city": "Paris"})
        assert run.new_rows() == [{"customer": "1", "name": "Lady Ada", "city": "London"}]


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
