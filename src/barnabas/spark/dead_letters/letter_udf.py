"""The writer as a function of a column, for rows that the JVM finds to be dead.

It runs in the stage that reads, before any other operation on the rows. For a row that passes, its
argument is NULL, which costs almost nothing; for a dead one, the record and the reason, as JSON.
The rows of an Arrow batch are passed on once its dead letters are committed.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.columns import schema
from barnabas.spark.dead_letters.dead_record import COLUMNS, REASON, DeadRecord
from barnabas.spark.dead_letters.letter_target import LetterTarget

_GOES_ON = "_goes_on"


def without_dead(
    rows: DataFrame, reason: Column, target: LetterTarget, record: Mapping[str, Column]
) -> DataFrame:
    """The rows without a reason; the records of the others go to a dead-letter topic.

    `record` has the `COLUMNS` of the record that a row is made of.
    """
    columns = rows.columns
    parts = {**{name: record[name] for name in COLUMNS}, REASON: reason}
    parts[schema.TIMESTAMP] = F.unix_millis(parts[schema.TIMESTAMP])
    parts[schema.HEADERS] = F.to_json(parts[schema.HEADERS], {"ignoreNullFields": "false"})
    whole = F.to_json(F.struct(*(column.alias(name) for name, column in parts.items())))
    dead = F.when(reason.isNotNull(), whole)
    goes_on = arrow_udf(_goes_on(target), "boolean")  # type: ignore[call-overload]
    is_kept = goes_on.asNondeterministic()(dead)
    return rows.withColumn(_GOES_ON, is_kept).where(_GOES_ON).select(*map(_quoted, columns))


def _goes_on(target: LetterTarget) -> Any:
    def goes_on(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        letters = target.open()
        for batch in batches:
            if batch.null_count < len(batch):
                letters.take(_record(text) for text in batch.drop_null().to_pylist())
                letters.flush()
            yield batch.is_null()

    return goes_on


def _record(text: str) -> DeadRecord:
    found = json.loads(text)
    timestamp_ms = found.get(schema.TIMESTAMP)
    headers = json.loads(found.get(schema.HEADERS) or "[]")
    return DeadRecord(
        TopicPartition(found[schema.TOPIC], found[schema.PARTITION]),
        found[schema.OFFSET],
        None if timestamp_ms is None else datetime.fromtimestamp(timestamp_ms / 1000, UTC),
        _bytes(found.get(schema.KEY)),
        _bytes(found.get(schema.VALUE)),
        [(each["key"], _bytes(each["value"])) for each in headers],
        found[REASON],
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))
