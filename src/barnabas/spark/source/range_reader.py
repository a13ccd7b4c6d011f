"""What a task does: read its ranges, in a worker of Spark."""

from collections.abc import Iterator
from functools import partial
from typing import Protocol

import pyarrow as pa

from barnabas.client.consumer.range_tables import RangeTables
from barnabas.spark.cluster.connection import connect
from barnabas.spark.source.data_loss import report_loss
from barnabas.spark.source.options import SourceOptions
from barnabas.spark.source.tasks import RangesPartition


class Form(Protocol):
    """How records become rows: `schema.ArrowForm`, `record_decoding.DecodedForm`."""

    columns: list[str]
    """Columns of records that are needed."""

    def batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Exactly what Spark expects."""


def read_ranges(
    options: SourceOptions, form: Form, task: RangesPartition
) -> Iterator[pa.RecordBatch]:
    """The records of a task; the next ones are fetched while Spark takes the last ones."""
    for table in read_tables(options, form.columns, task):
        yield from form.batches(table)


def read_tables(
    options: SourceOptions, columns: list[str], task: RangesPartition
) -> Iterator[pa.Table]:
    """The same, with the types that records have."""
    connection = connect(options.consumer.connection)
    reading = RangeTables(
        connection.cluster,
        task.ranges,
        columns,
        isolation=options.consumer.isolation,
        min_timestamp_ms=task.min_timestamp_ms,
        on_loss=partial(report_loss, fail=options.fail_on_data_loss),
        tuning=options.consumer.tuning,
        channel=connection.fetches,
        rack=options.consumer.rack,
        patience_s=options.poll_timeout_ms / 1000,
    )
    coming = connection.begin(reading.fetch())
    try:
        while fetched := coming.result():
            coming = connection.begin(reading.fetch())
            yield from reading.tables(fetched)
        yield from reading.rest()
    finally:
        coming.cancel()
