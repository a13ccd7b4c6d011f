"""What a handler returns, as records that are sent on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.formats import choose, encoder
from barnabas.records.message import Message
from barnabas.records.record import Header
from barnabas.tracing import TRACE_HEADERS


@dataclass(frozen=True)
class Outgoing:
    """A result with more than a value: a separate key, headers, another topic.

    The key is text or bytes. By default it is the key of the handled record.
    """

    value: Any
    key: str | bytes | None = None
    headers: Sequence[Header] = ()
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A record to send."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: tuple[Header, ...]
    partition: int | None = None


class Results:
    """Turns what a handler returns into records for `topic`; None is no record."""

    def __init__(
        self, topic: str, encode: Callable[[str, Any], bytes | None], *, many: bool
    ) -> None:
        self._topic = topic
        self._many = many
        self._encode = encode

    def of(self, result: Any, message: Message) -> list[Encoded]:
        """The records of one result."""
        if result is None:
            return []
        if self._many:
            return [self._record(each, message) for each in result]
        return [self._record(result, message)]

    def _record(self, result: Any, message: Message) -> Encoded:
        traced = tuple(each for each in message.headers if each[0] in TRACE_HEADERS)
        if not isinstance(result, Outgoing):
            return Encoded(self._topic, self._encode(self._topic, result), message.key, traced)
        key = result.key.encode() if isinstance(result.key, str) else result.key
        topic = result.topic or self._topic
        return Encoded(
            topic,
            self._encode(topic, result.value),
            message.key if key is None else key,
            (*traced, *result.headers),
        )


def encode_anything(value: Any) -> bytes | None:
    """By the type that a value has."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, dict | list):
        from barnabas.formats import JSON

        return JSON.encode(value)
    chosen = _known.get(type(value))
    if chosen is None:
        chosen = _known[type(value)] = encoder(choose(type(value), "bytes", "return"), "return")
    return chosen(value)


class ReturnedFormat:
    """JSON of what a handler returned, for who waits for the result of a job; bytes as they are."""

    def encode(self, value: Any) -> bytes:
        """By the type that it has."""
        if isinstance(value, str | bool | int | float):
            from barnabas.formats import JSON

            return JSON.encode(value)
        return encode_anything(value) or b""

    def decode(self, data: bytes) -> Any:
        """Handlers ask for no results."""
        raise NotImplementedError


_known: dict[type, Callable[[Any], bytes | None]] = {}
