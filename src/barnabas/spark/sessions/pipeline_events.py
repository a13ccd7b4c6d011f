"""Lets `spark-pipelines run` succeed if a pipeline uses a Python source.

Where Spark Connect has used Python to plan a read, it tells the client what a profiler measured,
also if it measured nothing. PySpark 4.3 takes that for an unknown response in a run of declarative
pipelines: `spark-pipelines` fails after "Run is COMPLETED". Such responses are ignored here, in the
session in which the source is registered. The replaced code is not public in PySpark; a test runs a
pipeline.
"""

from collections.abc import Iterator
from functools import wraps
from typing import Any

from pyspark.sql import SparkSession


def pass_over_measurements(spark: SparkSession) -> None:
    """Keep measurements of Python workers from ending a run, in this remote session."""
    client: Any = spark.client
    fetch = client._execute_and_fetch_as_iterator
    run = client.execute_command_as_iterator
    if getattr(run, "passes_over_measurements", False):
        return

    @wraps(run)
    def execute(*arguments: Any, **named: Any) -> Iterator[dict[str, Any]]:
        client._execute_and_fetch_as_iterator = events
        try:
            yield from run(*arguments, **named)
        finally:
            client._execute_and_fetch_as_iterator = fetch

    def events(*arguments: Any, **named: Any) -> Iterator[Any]:
        for response in fetch(*arguments, **named):
            if getattr(response, "name", None) != "__python_accumulator__":
                yield response

    execute.passes_over_measurements = True  # type: ignore[attr-defined]
    client.execute_command_as_iterator = execute
