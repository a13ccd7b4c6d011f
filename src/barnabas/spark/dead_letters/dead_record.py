"""A record that does not become a row, and why.

A dead letter has key, value and headers of its record, and in addition

    dead-letter.topic, .partition, .offset   where the record is
    dead-letter.timestamp                    its timestamp in UTC, as 2026-01-01T00:00:10.123Z
    dead-letter.reason                       why it did not become a row
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.columns import schema
from barnabas.records.record import Header, Headers

HEADER_PREFIX = "dead-letter."
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
            schema.TIMESTAMP: None if self.timestamp is None else _text(self.timestamp),
            REASON: self.reason,
        }
        added = [
            (f"{HEADER_PREFIX}{name}", None if text is None else text.encode())
            for name, text in said.items()
        ]
        return [*self.headers, *added]


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


def _text(when: datetime) -> str:
    shown = when.astimezone(UTC).isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")
