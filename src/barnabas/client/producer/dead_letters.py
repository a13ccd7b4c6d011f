"""The headers of dead letters, the same for queues, handlers and pipelines.

A dead letter has the key, value and headers of its record, and in addition:

    dead-letter.topic, .partition, .offset   where the record is
    dead-letter.timestamp                    its timestamp in UTC, as 2026-01-01T00:00:10.123Z;
                                             as "MS ms" if that is in no year from 1 to 9999
    dead-letter.reason                       why it was given up
    dead-letter.group                        the group that gave it up; not of pipelines
    dead-letter.deliveries                   how often it was handled; not of pipelines
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from barnabas.records.message import Message
from barnabas.records.record import Header

HEADER_PREFIX = "dead-letter."
KEPT_FOREVER = {"retention.ms": "-1"}
"""Settings of topics of dead letters: somebody has to look at each, which may take weeks."""


def letter_headers(message: Message, group_id: str, reason: str, deliveries: int) -> list[Header]:
    """The headers of the record, and those that make it a dead letter."""
    said: dict[str, str | None] = {
        "topic": message.topic,
        "partition": str(message.partition),
        "offset": str(message.offset),
        "timestamp": _stamped(message),
        "reason": reason,
        "group": group_id,
        "deliveries": str(deliveries),
    }
    return with_letter_headers(message.headers, said)


def with_letter_headers(headers: Sequence[Header], said: Mapping[str, str | None]) -> list[Header]:
    """The record's own headers, and what makes it a dead letter, instead of what did so before."""
    added = (
        (f"{HEADER_PREFIX}{name}", None if text is None else encoded(text))
        for name, text in said.items()
    )
    return [*without_letter_headers(headers), *added]


def encoded(text: str) -> bytes:
    """Text of a header. What UTF-8 has no bytes for, such as a lone surrogate, is escaped."""
    return text.encode("utf-8", "backslashreplace")


def time_text(when: datetime) -> str:
    """A timestamp as its header has it."""
    shown = when.astimezone(UTC).isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")


def _stamped(message: Message) -> str:
    try:
        return time_text(message.timestamp)
    except OverflowError:
        return f"{message.timestamp_ms} ms"


def without_letter_headers(headers: Sequence[Header]) -> list[Header]:
    """Those that the record had itself."""
    return [each for each in headers if not each[0].startswith(HEADER_PREFIX)]
