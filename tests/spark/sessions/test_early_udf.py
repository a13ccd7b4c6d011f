"""UDFs that are defined before there is a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.util import PythonEvalType

import barnabas.spark.pipelines  # noqa: F401 - what makes it possible
from tests.cli.conftest import Cli

DEFINITION = """
import pandas as pd
from pyspark.sql.functions import pandas_udf, udf
from barnabas.spark.pipelines import from_topic, pipeline, to_console

@udf("string")
def loud(word): return word.upper()

@udf(returnType="array<int>")
def codes(word): return [ord(each) for each in word]

@pandas_udf("double")
def doubled(numbers: pd.Series) -> pd.Series: return numbers * 2

@pipeline(sources={"words": from_topic("w", "word STRING")}, sink=to_console())
def shout(words): return words.select(loud("word"), codes("word"))
"""


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


def test_a_definition_with_udfs_is_listed_without_spark(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(DEFINITION)
    done = cli.run("pipeline", "list", str(tmp_path / "shout.py"))
    assert done.returncode == 0, done.stderr.decode()
    assert b"shout" in done.stdout
    assert b"Spark" not in done.stderr
    assert not (tmp_path / ".barnabas").exists(), "Spark was started"


def test_it_is_the_udf_that_it_would_have_been(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(SparkContext, "_active_spark_context", None)
        without.setattr(SparkSession, "_instantiatedSession", None)
        early = [udf(lambda number: number + 1, "int")]
        early.append(udf(lambda number: number + 1, "int", useArrow=False))
        early[0].asNondeterministic()
    later = udf(lambda number: number + 1, "int")
    rows = spark.range(2)
    assert rows.select(early[0]("id"), early[1]("id"), later("id")).collect() == [
        (1, 1, 1),
        (2, 2, 2),
    ]
    assert early[0]._unwrapped.evalType == later.evalType == PythonEvalType.SQL_ARROW_BATCHED_UDF
    assert early[1]._unwrapped.evalType == PythonEvalType.SQL_BATCHED_UDF
    assert not early[0]._unwrapped.deterministic
    spark.udf.register("early_udf_of_a_test", early[1])
    assert spark.sql("SELECT early_udf_of_a_test(1) AS two").collect() == [(2,)]
