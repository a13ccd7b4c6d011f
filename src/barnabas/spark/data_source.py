"""The data source that Spark uses for `format("barnabas")`.

Spark creates one in a separate process for every request (the schema, the plan of a read), so it
connects, and imports what reads and writes, only when that is needed.
"""

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.worker_memory import freeze_loaded_objects

if TYPE_CHECKING:
    from barnabas.spark.source.record_decoding import RecordDecoding


class BarnabasDataSource(DataSource):
    """Topics as a data source; `register` gives it its name."""

    parallelism: ClassVar[int | None] = None
    """How many tasks the session runs at once."""
    takes_filters: ClassVar[bool] = True
    """Whether the session pushes filters down; if not, Spark refuses readers that accept them."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.options = dict(options)

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> StructType:
        from barnabas.spark.source.registered_columns import is_registered, registered_columns
        from barnabas.spark.source.schema import schema_of

        if is_registered(self.options):
            return registered_columns(self.options)
        return schema_of(headers=self.options.get("includeheaders", "").lower() == "true")

    def reader(self, schema: StructType) -> DataSourceReader:
        from barnabas.spark.source.batch_reader import BatchReader, FilteringBatchReader
        from barnabas.spark.source.options import batch_options
        from barnabas.spark.source.table_reader import TableReader

        freeze_loaded_objects()
        options, decoding = batch_options(self.options), self._decoding(schema)
        if options.table_folder is not None:
            if decoding is not None:
                raise InvalidArgument("tableFolder keeps records as they are: decode the rows")
            return TableReader(options, schema, self.parallelism)
        # Filters on columns of a value are no filters on columns of its record with such names.
        is_filtering = self.takes_filters and decoding is None
        reader = FilteringBatchReader if is_filtering else BatchReader
        return reader(options, schema, self.parallelism, decoding)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        from barnabas.spark.source.options import stream_options
        from barnabas.spark.source.stream_reader import StreamReader

        options, decoding = stream_options(self.options), self._decoding(schema)
        return StreamReader(options, schema, self.parallelism, decoding)

    def _decoding(self, schema: StructType) -> "RecordDecoding | None":
        """How values are decoded; without it they stay as they are, and the schema is checked."""
        from barnabas.spark.source.options import DECODING
        from barnabas.spark.source.record_decoding import RecordDecoding
        from barnabas.spark.source.registered_columns import is_registered, registered_decoding
        from barnabas.spark.source.schema import check_schema

        text = self.options.get(DECODING)
        if text is None:
            if is_registered(self.options):
                return registered_decoding(self.options, schema)
            check_schema(schema)
            return None
        return RecordDecoding.from_option(text)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from barnabas.spark.sink.batch_writer import BatchWriter
        from barnabas.spark.sink.options import sink_options

        freeze_loaded_objects()
        return BatchWriter(sink_options(self.options, streaming=False), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802 - Spark's
        from barnabas.spark.sink.options import sink_options
        from barnabas.spark.sink.stream_writer import AtLeastOnceWriter, ExactlyOnceWriter

        freeze_loaded_objects()
        options = sink_options(self.options, streaming=True)
        if options.exactly_once:
            return ExactlyOnceWriter(options, schema)
        return AtLeastOnceWriter(options, schema)
