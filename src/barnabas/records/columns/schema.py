"""The columns of a table of records, named and typed as Spark's Kafka source has them.

    key             binary, null for none
    value           binary, null for none
    headers         list of (key: string, value: binary), empty for none
    topic           string
    partition       int32
    offset          int64
    timestamp       timestamp in milliseconds, UTC
    timestampType   int32: 0 the producer's time, 1 the broker's

A record without a timestamp, which Kafka writes as -1, is one millisecond before 1970.
"""

import pyarrow as pa

from barnabas.records.record import Header

KEY = "key"
VALUE = "value"
HEADERS = "headers"
TOPIC = "topic"
PARTITION = "partition"
OFFSET = "offset"
TIMESTAMP = "timestamp"
TIMESTAMP_TYPE = "timestampType"

HEADER_TYPE = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])

SCHEMA = pa.schema(
    [
        pa.field(KEY, pa.binary()),
        pa.field(VALUE, pa.binary()),
        pa.field(HEADERS, pa.list_(HEADER_TYPE)),
        pa.field(TOPIC, pa.string()),
        pa.field(PARTITION, pa.int32()),
        pa.field(OFFSET, pa.int64()),
        pa.field(TIMESTAMP, pa.timestamp("ms", tz="UTC")),
        pa.field(TIMESTAMP_TYPE, pa.int32()),
    ]
)
COLUMNS: tuple[str, ...] = tuple(SCHEMA.names)

# One header as pyarrow takes it from Python.
HeaderItem = dict[str, str | bytes | None]


def header_items(headers: tuple[Header, ...]) -> list[HeaderItem]:
    return [{"key": key, "value": value} for key, value in headers]
