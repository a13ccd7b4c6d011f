"""The topic that keeps the state of a handler, as far as handlers read it."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol


class StateRow(NamedTuple):
    """The value that a key was given at a time in milliseconds; None deletes it."""

    key: bytes
    value: bytes | None
    written_ms: int


class ChangelogRows(NamedTuple):
    """Rows of a changelog, and the offset of what follows them."""

    rows: Sequence[StateRow]
    next_offset: int


class Extent(NamedTuple):
    """What a partition of a changelog has: which topic, the first offset, and the one to come."""

    topic_id: bytes
    first: int
    end: int


class Changelog(Protocol):
    """Of one handler."""

    async def ensure(self, source: str) -> None:
        """Create the topic if it is missing, with the partitions of `source`; raise if it differs.

        The source exists.
        """

    async def extent(self, partition: int) -> Extent:
        """What there is now. Records of open transactions are before its end."""

    def read(self, partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        """What was committed from one offset up to another one.

        It waits for the end of transactions that are open there.
        """

    async def close(self) -> None: ...
