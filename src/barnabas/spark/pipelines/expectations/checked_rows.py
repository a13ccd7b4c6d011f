"""Rows with their rules applied: counted, and left out or refused where a rule says so.

Each condition is evaluated once for a row. Spark counts all rows for all rules before any is left
out, so the counts do not depend on the order of the rules.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import BooleanType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.expectations.expectation import Expectation
from barnabas.spark.pipelines.expectations.rule_counts import counts, metric_of

FAILED = "failed the expectation "
"""Part of the error message of a pipeline that was stopped by a rule."""

_PASSES = "_expectation_"

DeadLetterFilter: TypeAlias = Callable[[DataFrame, Column], DataFrame]
"""Sends the records of some rows to dead letters, given their reasons (NULL: none), and returns
the other rows."""


def checked(
    rows: DataFrame,
    rules: Sequence[Expectation],
    source: str | None,
    shown: Sequence[str],
    dead_letters: DeadLetterFilter | None = None,
) -> DataFrame:
    """The rows that pass; `source` is where they come from, None for the result.

    `shown` are the columns of a row that errors show.
    """
    if not rules:
        return rows
    columns = rows.columns
    names = [f"{_PASSES}{number}" for number in range(len(rules))]
    passes = [
        _passes(rows, each, shown).alias(name) for each, name in zip(rules, names, strict=True)
    ]
    found = rows.select("*", *passes)
    found = found.observe(metric_of(source), *counts(rules, [F.col(each) for each in names]))
    by_mode = {
        mode: [
            (each, F.col(name))
            for each, name in zip(rules, names, strict=True)
            if each.on_failure == mode
        ]
        for mode in ("drop", "dead_letter")
    }
    if by_mode["dead_letter"]:
        assert dead_letters is not None
        reasons = [F.when(~passed, F.lit(each.reason)) for each, passed in by_mode["dead_letter"]]
        all_pass = reduce(and_, (passed for _, passed in by_mode["dead_letter"]))
        found = dead_letters(found, F.when(~all_pass, F.concat_ws("; ", *reasons)))
    for _, passed in by_mode["drop"]:
        found = found.where(passed)
    return found.select(*map(_quoted, columns))


def _passes(rows: DataFrame, rule: Expectation, shown: Sequence[str]) -> Column:
    with _of_rule(rule):
        condition = F.expr(rule.condition)
        (field,) = rows.select(condition).schema.fields
        if not isinstance(field.dataType, BooleanType):
            raise InvalidArgument(
                f"{rule.condition!r} is {field.dataType.simpleString().upper()}: a condition is "
                "true or false"
            )
    passes = F.coalesce(condition, F.lit(False))
    if rule.on_failure != "fail":
        return passes
    row = F.to_json(F.struct(*map(_quoted, shown)), {"ignoreNullFields": "false"})
    named = "" if rule.name == rule.condition else f"{rule.name} "
    message = F.concat(F.lit(f"a row {FAILED}{named}({rule.condition}): "), row)
    return F.when(passes, F.lit(True)).otherwise(F.raise_error(message).cast("boolean"))


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


@contextmanager
def _of_rule(rule: Expectation) -> Iterator[None]:
    """Add the rule to an error."""
    named = "expectation" if rule.name == rule.condition else f"expectation {rule.name}"
    try:
        yield
    except PySparkException as error:
        raise InvalidArgument(f"{named} ({rule.condition}): {reason_of(error)}") from error
    except InvalidArgument as error:
        raise InvalidArgument(f"{named}: {error}") from None
