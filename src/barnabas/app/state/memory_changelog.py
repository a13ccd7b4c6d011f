"""The changelog of a handler in memory, for tests."""

from collections.abc import AsyncIterator, Sequence

from barnabas.app.state.changelog import ChangelogRows, Extent, StateRow
from barnabas.app.state.inheritance import GroupView
from barnabas.records.message import Message


class MemoryChangelog:
    """Reads a topic that has one partition."""

    def __init__(self, records: dict[str, list[Message]], topic: str) -> None:
        self._records = records
        self._topic = topic

    async def ensure(self) -> None:
        self._records.setdefault(self._topic, [])

    async def partitions(self) -> list[int]:
        return [0]

    async def extents(
        self, partitions: Sequence[int], *, committed: bool = False
    ) -> dict[int, Extent]:
        del committed  # there are no open transactions
        found = Extent(b"in memory", 0, len(self._records.get(self._topic, ())))
        return dict.fromkeys(partitions, found)

    async def read(self, _partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        found = self._records.get(self._topic, [])[start:end]
        yield ChangelogRows(
            [StateRow(each.key or b"", each.value, each.timestamp_ms) for each in found], end
        )

    async def group(self) -> GroupView:
        return GroupView({}, "", {}, is_stable=True)

    async def close(self) -> None:
        """There is nothing to close."""
