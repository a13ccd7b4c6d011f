"""Writing a DataFrame to topics: `df.write.format("barnabas")`.

Every record is written once, unless a task fails and is retried: the records that it had written
are then duplicated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.sink.columns import written_columns
from barnabas.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    from pyarrow import RecordBatch


@dataclass
class RowsWritten(WriterCommitMessage):
    """What a task has written."""

    rows: int


class BatchWriter(DataSourceArrowWriter):
    """Appends records; a topic is never overwritten."""

    def __init__(self, options: SinkOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise InvalidArgument('topics are appended to: use .mode("append")')
        self._options = options
        self._columns = written_columns(schema, options.topic, headers=options.headers)

    def write(self, iterator: "Iterator[RecordBatch]") -> RowsWritten:
        from barnabas.spark.sink.row_writer import write_rows

        return RowsWritten(write_rows(self._options, self._columns, iterator))
