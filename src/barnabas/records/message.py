"""One message as a consumer gets it."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from barnabas.records.record import Header

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Message(NamedTuple):
    """A record, its partition and its offset.

    Key and value are bytes, or what the consumer's formats convert them to; None is Kafka's null.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Any
    headers: tuple[Header, ...] = ()

    @property
    def timestamp(self) -> datetime:
        """`timestamp_ms` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.timestamp_ms)
