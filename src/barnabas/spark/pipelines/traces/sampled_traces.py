"""Some of the traces of a micro-batch, as Spark reports them with it.

Each of a few hash functions picks the trace whose hash is the smallest: a fair sample, of a size
that does not grow with the batch, and that Spark can collect while it processes rows (`observe`).
"""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.pipelines.traces.trace_column import traceparent

_METRIC = "barnabas_traces"
_SAMPLES = 8
_SAMPLED = "[13579bdf]$"
"""How a traceparent ends whose trace is recorded: the lowest bit of its flags."""


def with_sampled_traces(rows: DataFrame, source: str | None) -> DataFrame:
    """The rows of a source, of which Spark reports a sample of traces."""
    parent = F.when(traceparent().rlike(_SAMPLED), traceparent())
    picked = [
        F.min_by(parent, F.when(parent.isNotNull(), F.xxhash64(parent, F.lit(number)))).alias(
            f"sample_{number}"
        )
        for number in range(_SAMPLES)
    ]
    return rows.observe(f"{_METRIC}.{source or 'source'}", *picked)


def read_traces(observed: Mapping[str, Any]) -> tuple[str, ...]:
    """The traceparents that Spark has reported, each once."""
    found = [
        each
        for metric, values in observed.items()
        if metric.startswith(f"{_METRIC}.")
        for each in (values or {}).values()
        if each is not None
    ]
    return tuple(dict.fromkeys(found))
