"""A record that does not become a row, and why.

`barnabas.client.producer.dead_letters` has the headers of its dead letter.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.dead_letters import time_text, with_letter_headers
from barnabas.records.columns import schema
from barnabas.records.record import Header, Headers

REASON = "reason"
COLUMNS = (
    schema.KEY,
    schema.VALUE,
    schema.HEADERS,
    schema.TOPIC,
    schema.PARTITION,
    schema.OFFSET,
    schema.TIMESTAMP,
)
"""The columns of a record that a dead letter is made of."""


class DeadRecord(NamedTuple):
    """A record for a dead-letter topic."""

    partition: TopicPartition
    offset: int
    timestamp: datetime | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    reason: str

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        in_headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + in_headers + len(self.reason)

    def letter_headers(self) -> list[Header]:
        """The headers of the record, and those that make it a dead letter."""
        said = {
            schema.TOPIC: self.partition.topic,
            schema.PARTITION: str(self.partition.partition),
            schema.OFFSET: str(self.offset),
            schema.TIMESTAMP: None if self.timestamp is None else time_text(self.timestamp),
            REASON: self.reason,
        }
        return with_letter_headers(self.headers, said)


def dead_records(rows: Iterable[dict[str, Any]]) -> Iterator[DeadRecord]:
    """Rows with `COLUMNS` and `REASON`, as Arrow has them, as records."""
    for row in rows:
        yield DeadRecord(
            TopicPartition(row[schema.TOPIC], row[schema.PARTITION]),
            row[schema.OFFSET],
            row[schema.TIMESTAMP],
            row[schema.KEY],
            row[schema.VALUE],
            [(each["key"], each["value"]) for each in row[schema.HEADERS] or ()],
            row[REASON],
        )
