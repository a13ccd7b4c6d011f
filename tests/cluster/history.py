"""What clients saw while a cluster was being hurt: the evidence that `checker.py` judges.

Times are seconds of one clock. Threads only ever append, which needs no lock. A value is unique:
the producer's name and a number that counts up, so each record can be told from all others.
"""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Sent(NamedTuple):
    """A record handed to a producer. What became of it may never be known."""

    producer: str
    value: str
    partition: int
    at: float


class Acked(NamedTuple):
    """The cluster has said that it keeps a record."""

    value: str
    partition: int
    offset: int | None
    """None where the client was told that it is stored, but not where."""
    sent_at: float
    at: float


class Failed(NamedTuple):
    """A record for which the producer gave up; it may be stored all the same."""

    value: str
    error: str
    at: float


class Assigned(NamedTuple):
    """A consumer begins to read a partition at an offset. Its polls refer to it by its number."""

    number: int
    consumer: str
    partition: int
    start: int


class Polled(NamedTuple):
    """A consumer has got a record."""

    assignment: int
    partition: int
    offset: int
    value: str
    at: float


class Committed(NamedTuple):
    """The coordinator has said that it keeps a group's offset."""

    group: str
    partition: int
    offset: int
    began: float
    at: float


class SawCommitted(NamedTuple):
    """A group asked for its committed offset; 0 stands for none."""

    group: str
    partition: int
    offset: int
    began: float


class Stored(NamedTuple):
    """A record that a reader found at the end, when all was well again."""

    partition: int
    offset: int
    value: str


@dataclass
class ProducerMode:
    """How a producer sends, which decides what it may do to the log."""

    idempotent: bool
    resent: Counter[int] = field(default_factory=Counter)
    """By partition, how many records it has sent again."""


@dataclass
class History:
    producers: dict[str, ProducerMode] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    acked: list[Acked] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    polled: list[Polled] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    saw_committed: list[SawCommitted] = field(default_factory=list)
    client_errors: list[str] = field(default_factory=list)
    """What consumers were told instead of a record, and what made a producer useless."""
    stored: list[Stored] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Consumers of each group that has been left to read to the end."""
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def assign(self, consumer: str, partition: int, start: int) -> int:
        """The number of a new assignment."""
        number = next(self._numbers)
        self.assigned.append(Assigned(number, consumer, partition, start))
        return number


def producer_of(value: str) -> str:
    return value.partition("/")[0]


def number_of(value: str) -> int:
    return int(value.partition("/")[2])
