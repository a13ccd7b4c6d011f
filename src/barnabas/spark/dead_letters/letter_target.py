"""Where the dead letters of a source go: to a topic, or in tests to a folder."""

from collections.abc import Iterable
from typing import Protocol

from barnabas.spark.dead_letters.dead_record import DeadRecord


class Letters(Protocol):
    """Writes the dead records of one task, in the order of their offsets in each partition."""

    def take(self, records: Iterable[DeadRecord]) -> None:
        """Add records, which may be written later."""

    def flush(self) -> None:
        """Write all added records; when this returns, they are committed."""


class LetterTarget(Protocol):
    """Is sent to the tasks, which open it."""

    def open(self) -> Letters:
        """For the task that this code runs in."""
