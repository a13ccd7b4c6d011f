"""The rows of an Arrow table as records."""

from typing import Any

from barnabas.records.message import Message


def places_of(table: Any) -> list[Message]:
    """Without contents."""
    return [
        Message(row["topic"], row["partition"], row["offset"], 0, None, None)
        for row in table.select(["topic", "partition", "offset"]).to_pylist()
    ]


def rows_of(table: Any) -> list[Message]:
    """With all that they have."""
    import pyarrow as pa

    stamps = table.column("timestamp").cast(pa.timestamp("ms", tz="UTC")).cast("int64").to_pylist()
    return [
        Message(
            row["topic"],
            row["partition"],
            row["offset"],
            stamped,
            row["key"],
            row["value"],
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row, stamped in zip(table.drop_columns("timestamp").to_pylist(), stamps, strict=True)
    ]
