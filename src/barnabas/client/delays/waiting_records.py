"""The first records of each level, as a mover has them in memory. Pure.

All of a level leave in the order in which they were written, so a few of them are enough.
"""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.delays.delayed_record import due_ms
from barnabas.client.delays.levels import leaves_at, level_of
from barnabas.records.message import Message

ENOUGH_RECORDS = 500
ENOUGH_BYTES = 1024 * 1024
"""With so much of a level in memory, no more of it is read."""


class DueRecord(NamedTuple):
    """A record that leaves its level: to a lower one, or None, to its topic."""

    message: Message
    due_ms: int
    level: int | None


@dataclass
class _WaitingLevel:
    records: deque[Message] = field(default_factory=deque)
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.records) >= ENOUGH_RECORDS or self.bytes >= ENOUGH_BYTES


class WaitingRecords:
    """Of one mover."""

    def __init__(self) -> None:
        self._levels: dict[TopicPartition, _WaitingLevel] = {}

    def __len__(self) -> int:
        return sum(len(each.records) for each in self._levels.values())

    def clear(self) -> None:
        """Forget all of them: they are read again, here or elsewhere."""
        self._levels.clear()

    def add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            name = TopicPartition(message.topic, message.partition)
            level = self._levels.setdefault(name, _WaitingLevel())
            level.records.append(message)
            level.bytes += _size(message)

    @property
    def full(self) -> set[TopicPartition]:
        """Levels of which no more is to be read for now."""
        return {name for name, level in self._levels.items() if level.is_full}

    def is_empty(self, name: TopicPartition) -> bool:
        """Whether nothing of a level is in memory."""
        level = self._levels.get(name)
        return level is None or not level.records

    def next_ms(self, now_ms: int) -> int | None:
        """When the next record leaves its level; None if there is none."""
        return min(
            (
                _leaves_at(level.records[0], now_ms)
                for level in self._levels.values()
                if level.records
            ),
            default=None,
        )

    def take(self, now_ms: int, limit: int) -> list[DueRecord]:
        """The records that leave their levels now, the first due first; they are the caller's."""
        taken: list[DueRecord] = []
        for level in self._levels.values():
            records = level.records
            while records and len(taken) < limit and _leaves_at(records[0], now_ms) <= now_ms:
                message = records.popleft()
                level.bytes -= _size(message)
                due = due_ms(message)
                taken.append(
                    DueRecord(message, due, level_of(due - now_ms) if due > now_ms else None)
                )
        taken.sort(key=lambda each: each.due_ms)
        return taken


def behind(moves: Collection[DueRecord]) -> dict[TopicPartition, int]:
    """The offsets to commit when these records have been moved."""
    offsets: dict[TopicPartition, int] = {}
    for message, _, _ in moves:
        name = TopicPartition(message.topic, message.partition)
        offsets[name] = max(offsets.get(name, 0), message.offset + 1)
    return offsets


def _leaves_at(message: Message, now_ms: int) -> int:
    return leaves_at(message.partition, message.timestamp_ms, due_ms(message), now_ms)


def _size(message: Message) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in message.headers)
    return len(message.key or b"") + len(message.value or b"") + headers
