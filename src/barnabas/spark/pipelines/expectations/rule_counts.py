"""How many rows passed and failed each rule, as Spark reports it with every micro-batch.

Spark counts rows while it processes them (`observe`). Each source and the result have a name, under
which all rows are counted, and for each rule those that failed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.pipelines.expectations.expectation import Expectation

_METRIC = "barnabas_expectations"
_ROWS = "rows"
_FAILED = "failed."


class RuleCount(NamedTuple):
    """How many rows passed and failed a rule."""

    passed: int = 0
    failed: int = 0

    def plus(self, other: "RuleCount") -> "RuleCount":
        return RuleCount(self.passed + other.passed, self.failed + other.failed)


def metric_of(source: str | None) -> str:
    """The name under which rules of a source are counted; None stands for the result."""
    return _METRIC if source is None else f"{_METRIC}.{source}"


def counts(rules: Sequence[Expectation], passes: Sequence[Column]) -> list[Column]:
    """The expressions that Spark counts."""
    failed = [
        F.count_if(~passed).alias(f"{_FAILED}{rule.name}")
        for rule, passed in zip(rules, passes, strict=True)
    ]
    return [F.count(F.lit(1)).alias(_ROWS), *failed]


def label_of(source: str | None, rule: str) -> str:
    """The name of a rule within its pipeline: `views.positive` for one of a source."""
    return rule if source is None else f"{source}.{rule}"


def read_counts(observed: Mapping[str, Any]) -> dict[str, RuleCount]:
    """The counts of a micro-batch, by label."""
    found = {}
    for metric, values in observed.items():
        if metric != _METRIC and not metric.startswith(f"{_METRIC}."):
            continue
        source = metric.removeprefix(_METRIC).removeprefix(".") or None
        rows = values[_ROWS]
        for name, failed in values.items():
            if name.startswith(_FAILED):
                label = label_of(source, name.removeprefix(_FAILED))
                found[label] = RuleCount(rows - failed, failed)
    return found
