"""The changelog of a handler in memory, for tests."""

from collections.abc import AsyncIterator

from barnabas.app.state.changelog import ChangelogRows, Extent, StateRow
from barnabas.records.message import Message


class MemoryChangelog:
    """Reads a topic that has one partition."""

    def __init__(self, records: dict[str, list[Message]], topic: str) -> None:
        self._records = records
        self._topic = topic

    async def ensure(self, _source: str) -> None:
        self._records.setdefault(self._topic, [])

    async def extent(self, _partition: int) -> Extent:
        return Extent(b"in memory", 0, len(self._records[self._topic]))

    async def read(self, _partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        found = self._records[self._topic][start:end]
        yield ChangelogRows(
            [StateRow(each.key or b"", each.value, each.timestamp_ms) for each in found], end
        )

    async def close(self) -> None:
        """There is nothing to close."""
