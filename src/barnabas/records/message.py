"""A message, as consumers return it."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from barnabas.records.record import Header

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
else:  # defaults of type variables are known to type checkers, and to Python from 3.13 on
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Message(NamedTuple, Generic[K, V]):
    """A record, its partition and its offset.

    Key and value are bytes, or what the consumer's types or formats convert them to; None is
    Kafka's null. `Message[str, Order]` has a key of type `str` and a value of type `Order`.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: K
    value: V
    headers: tuple[Header, ...] = ()

    @property
    def timestamp(self) -> datetime:
        """`timestamp_ms` as a datetime in UTC."""
        return _EPOCH + timedelta(milliseconds=self.timestamp_ms)
