"""Reading the state of a handler from outside of it: from local copies, and from the changelog.

What a key has is looked up in the copy of each partition that this process has, and what follows
the copy is read from the changelog, up to what is committed when the reader is asked. So an answer
has all changes that were committed before, whoever has the partition, and whatever copies there
are: they only save reading.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from barnabas.app.clock import Clock
from barnabas.app.state.changelog import Changelog, Extent, StateRow
from barnabas.app.state.declaration import StateDeclaration
from barnabas.app.state.state_partition import StatePartition

Copies = Callable[[int], StatePartition | None]


def no_copy(_partition: int) -> None:
    """For a process that has none."""


class StateReader:
    """Of one handler."""

    def __init__(
        self,
        changelog: Changelog,
        declared: StateDeclaration,
        clock: Clock,
        copies: Copies = no_copy,
    ) -> None:
        self._changelog = changelog
        self._declared = declared
        self._clock = clock
        self._copies = copies

    async def get(self, key: bytes) -> StateRow | None:
        """What is committed for a key; None if it has no value."""
        newest: StateRow | None = None
        extents = await self._changelog.extents(await self._changelog.partitions(), committed=True)
        for partition, extent in extents.items():
            start, row = self._copied(partition, extent, key)
            async for read in self._changelog.read(partition, start, extent.end):
                row = next((each for each in reversed(read.rows) if each.key == key), row)
            if row is not None and (newest is None or row.written_ms >= newest.written_ms):
                newest = row
        return self._live(newest)

    def _copied(self, partition: int, extent: Extent, key: bytes) -> tuple[int, StateRow | None]:
        """What a copy has, and where the changelog goes on after it."""
        copy = self._copies(partition)
        if copy is not None and copy.store.place.topic_id == extent.topic_id:
            with suppress(sqlite3.DatabaseError):  # its owner will find out
                return max(extent.first, copy.store.place.next_offset), copy.store.get(key)
        return extent.first, None

    async def rows(self) -> AsyncIterator[StateRow]:
        """All keys that have a value; a partition is in memory at a time."""
        extents = await self._changelog.extents(await self._changelog.partitions(), committed=True)
        for partition, extent in extents.items():
            found: dict[bytes, StateRow] = {}
            async for read in self._changelog.read(partition, extent.first, extent.end):
                found |= {each.key: each for each in read.rows}
            for key in sorted(found):
                row = self._live(found[key])
                if row is not None:
                    yield row

    def _live(self, row: StateRow | None) -> StateRow | None:
        """None for a deleted value, and for one that has expired."""
        if row is None or row.value is None:
            return None
        return None if self._declared.has_expired(row, self._clock.time_ms()) else row
