"""Checks what only Spark can: a pipeline's query, its columns, their types, and its output mode.

The query is started on empty inputs, as a test does it, and the sink is given its rows without
being started. No broker is needed, and nothing is written.
"""

from pyspark.errors import PySparkException

from barnabas.errors import BarnabasError
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.testing.pipeline_tester import running


def query_error(pipeline: Pipeline) -> str | None:
    """The error that a run would end with before its first row; None if there is none."""
    try:
        with running(pipeline) as run:
            run.check_sink()
    except BarnabasError as error:
        return str(error).removeprefix(f"pipeline {pipeline.name}: ")
    except PySparkException as error:  # the sink's
        return reason_of(error)
    return None


def unchecked_because(pipeline: Pipeline) -> str | None:
    """Why the query can't be checked in this way; None if it can."""
    if not pipeline.sources:
        return "it reads with the session"
    for source in pipeline.sources.values():
        if not source.can_be_fed:
            return f"{source.describe()} can't be fed in a test"
    return None
