"""Rows of a DataFrame of records, with their values decoded, in Python workers of Spark.

For records that a query has already read, such as those of tables; otherwise the reader decodes
them itself.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from barnabas.spark.source.record_decoding import DecodedForm, RecordDecoding


def decoded_rows(records: DataFrame, decoding: RecordDecoding) -> DataFrame:
    """The rows that a reader would make of these records."""
    needed = DecodedForm(decoding).columns

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        form = DecodedForm(decoding)
        for batch in batches:
            yield from form.batches(pa.Table.from_batches([batch]))

    return records.select(*needed).mapInArrow(decode, decoding.schema)
