"""When a delayed record is due: a header that it has until it is moved to its topic.

delayed.due   the time in milliseconds since 1970, as decimal digits
"""

from collections.abc import Sequence
from datetime import datetime

from barnabas.client.durations import Duration, seconds
from barnabas.client.offsets.offset_spec import timestamp_of
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message
from barnabas.records.record import Header

DUE_HEADER = "delayed.due"
_LATEST_MS = 2**63 - 1
_LATEST_DIGITS = len(str(_LATEST_MS))


def due_ms_of(delay: Duration | None, at: datetime | None, now_ms: int) -> int | None:
    """When a record is due, from what a caller gives; None if it is not delayed."""
    if delay is not None and at is not None:
        raise InvalidArgument("a record is sent after a delay or at a time: give one of them")
    if at is not None:
        if not isinstance(at, datetime):
            raise InvalidArgument(f"at={at!r}: give a datetime, or a delay")
        return timestamp_of(at, "at")
    if delay is None:
        return None
    delay_ms = seconds(delay, "delay") * 1000
    if not delay_ms < _LATEST_MS - now_ms:
        raise InvalidArgument(f"delay={delay!r}: it never ends")
    return now_ms + round(delay_ms)


def with_due(headers: Sequence[Header], due_ms: int) -> list[Header]:
    return [*without_due(headers), (DUE_HEADER, str(due_ms).encode())]


def without_due(headers: Sequence[Header]) -> list[Header]:
    """The headers that the application has given."""
    return [each for each in headers if each[0] != DUE_HEADER]


def due_ms(message: Message) -> int:
    """When it is due. At once if it does not say so: then no queue has put it there."""
    text = dict(message.headers).get(DUE_HEADER) or b""
    if len(text) > _LATEST_DIGITS or not text.isdigit():
        return message.timestamp_ms
    return int(text)
