"""Whether a stream has written what the same query computes of all events at once."""

import json
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from benchmarks.workloads.contenders import Filled, decoded, last_of_keys, records_of
from benchmarks.workloads.workload import Query, Row

Result = Counter[str]
"""Rows, as JSON with sorted names, and how many there are of each."""


def expected(spark: SparkSession, filled: Filled, query: Query) -> Result:
    """What Spark computes of the topic as a batch."""
    broker, workload = filled.broker, filled.workload
    inputs = {
        name: last_of_keys(spark, broker, "barnabas", name, table)
        for name, table in workload.joined.items()
    }
    records = records_of(spark, broker, "barnabas", filled.topic)
    inputs["events"] = decoded(records, workload.schema)
    rows = query.transform(**{name: inputs[name] for name in query.inputs})
    found = rows.select(F.to_json(F.struct("*")).alias("value")).collect()
    return _result(filled, query, [row.value for row in found])


def written(spark: SparkSession, filled: Filled, query: Query, output: str) -> Result:
    """What a stream has written to its topic."""
    found = records_of(spark, filled.broker, "barnabas", output).select("value").collect()
    return _result(filled, query, [bytes(row.value) for row in found])


def difference(of_stream: Result, of_batch: Result) -> str | None:
    """How they differ, in words."""
    missing, more = of_batch - of_stream, of_stream - of_batch
    if not missing and not more:
        return None
    examples = [next(iter(each)) for each in (missing, more) if each]
    return (
        f"{missing.total()} of {of_batch.total()} rows are missing and {more.total()} are too many,"
        f" as {' and '.join(examples)}"
    )


def _result(filled: Filled, query: Query, values: list[str] | list[bytes]) -> Result:
    rows: list[Row] = [json.loads(each) for each in values]
    found = (json.dumps(each, sort_keys=True) for each in query.final(rows))
    return Counter(each for each in found if filled.workload.closing not in each)
