"""A misspelt column: the error has Spark's suggestion, and no plan or JVM stack trace."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.spark.pipelines import PipelineError, from_topic, load, pipeline, to_memory
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.testing import running

VIEWS = {"views": from_topic("views", "page STRING, at TIMESTAMP")}
SUGGESTION = (
    "pipeline {}: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter "
    "with name `pgae` cannot be resolved. Did you mean one of the following? "
    "[`at`, `page`, `record`]."
)


@pipeline(sources=VIEWS, sink=to_memory())
def grouped(views: DataFrame) -> DataFrame:
    return views.groupBy("pgae").count()


@pipeline(sources=VIEWS, sink=to_memory())
def by_attribute(views: DataFrame) -> DataFrame:
    return views.select(views.pgae)


def error_of(
    spark: SparkSession, defined: Pipeline, capfd: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """The error, and what was printed."""
    capfd.readouterr()
    with pytest.raises(PipelineError) as raised, running(defined, spark=spark):
        pass
    assert raised.value.__suppress_context__
    return str(raised.value), capfd.readouterr().err


def test_a_column_in_python(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    assert error_of(spark, grouped, capfd) == (SUGGESTION.format("grouped"), "")
    error, printed = error_of(spark, by_attribute, capfd)
    assert "`pgae` is not supported; the DataFrame has no column of that name" in error
    assert printed == ""


def test_a_column_in_sql(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "views.sql").write_text(
        '-- source views: topic v schema="page STRING, at TIMESTAMP"\n'
        "-- sink: memory\n"
        "SELECT pgae FROM views"
    )
    found = load(tmp_path / "views.sql")["views"]
    assert error_of(spark, found, capfd) == (f"{SUGGESTION.format('views')} line 3 pos 7", "")
