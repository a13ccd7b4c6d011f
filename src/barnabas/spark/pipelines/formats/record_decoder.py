"""Records of a topic as rows, decoded by Spark itself: JSON with types that are Spark's only.

All others are decoded where they are read (`barnabas.spark.decoding`), with the same results.
A value is decoded once. The straightforward plan, decode and filter, would have Spark push the
filter down and decode twice; filters are not pushed through a generator (`inline`).
"""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.pipelines.formats.json_values import UNDECODABLE, JsonValues

_PARSED = "_parsed"


def decoded(records: DataFrame, values: JsonValues, kept: list[Column], *, skip: bool) -> DataFrame:
    """The columns of the values, and those of `kept`.

    If a value can't be decoded, the query fails, or the record is skipped (`skip`).
    """
    whole = F.array(values.parsed(F.col("value")))
    if skip:
        rows = F.filter(whole, lambda row: ~_is_undecodable(values, row))
    else:
        rows = F.transform(whole, lambda row: _checked(values, row))
    taken = records.select(*kept, F.inline(rows))
    return taken.drop(UNDECODABLE)


def decoded_or_dead(records: DataFrame, values: JsonValues, kept: list[Column]) -> DataFrame:
    """The columns of the values and those of `kept`, and `reason`: why there is no row."""
    whole = F.array(values.parsed(F.col("value")))
    rows = F.transform(
        whole,
        lambda row: F.struct(
            *(row[each.name].alias(each.name) for each in values.fields.fields),
            _reason(values, row).alias("reason"),
        ),
    )
    return records.select(*kept, F.inline(rows))


def undecodable(records: DataFrame, values: JsonValues) -> DataFrame:
    """Records whose value can't be decoded, with a column `reason`."""
    whole = F.array(values.parsed(F.col("value")))
    reasons = F.transform(whole, lambda row: F.struct(_reason(values, row).alias("reason")))
    return records.select("*", F.inline(reasons)).where("reason IS NOT NULL")


def _is_undecodable(values: JsonValues, row: Column) -> Column:
    missing = [row[each.name].isNull() for each in values.fields.fields if not each.nullable]
    return reduce(or_, missing, _does_not_fit(row))


def _does_not_fit(row: Column) -> Column:
    return F.col("value").isNotNull() & (row.isNull() | row[UNDECODABLE].isNotNull())


def _reason(values: JsonValues, row: Column) -> Column:
    """Why a value can't be decoded; NULL if it can."""
    required = [each.name for each in values.fields.fields if not each.nullable]
    reason = F.when(_does_not_fit(row), values.reason(F.col("value")))
    if required:
        reason = reason.when(F.col("value").isNull(), F.lit("the record has no value"))
    for name in required:
        reason = reason.when(row[name].isNull(), F.lit(f"{name} is missing"))
    return reason


def _checked(values: JsonValues, row: Column) -> Column:
    reason = _reason(values, row)
    where = F.concat(F.col("topic"), F.lit(":"), F.col("partition"), F.lit("@"), F.col("offset"))
    message = F.concat(F.lit("the record "), where, F.lit(" can't be decoded: "), reason)
    return F.when(~_is_undecodable(values, row), row).otherwise(F.raise_error(message))
