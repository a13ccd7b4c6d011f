"""All records that match, with progress: piece by piece, tested in a thread.

Partitions take turns. A few pieces are read ahead, so that what a search holds in memory does not
depend on how much there is, or on how many records match.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.messages.backwards import Backwards
from barnabas.console.messages.expression import Test
from barnabas.console.messages.positions import LogBounds
from barnabas.console.messages.ranges import Found, RangeReader
from barnabas.console.messages.view import View
from barnabas.console.user_cluster import UserCluster

_FETCH_BYTES = 2 * 1024 * 1024
_KEPT_BYTES = 2 * 1024 * 1024
_AT_ONCE = 4
"""Each of them holds a fetch and what it keeps: 16 MB together."""
_FIRST_WINDOW = 1_000

Ranges: TypeAlias = Mapping[TopicPartition, LogBounds]
"""What to look at: from the beginning to the end of each."""


@dataclass(slots=True)
class Progress:
    """How far a search is, in offsets."""

    scanned: int = 0
    total: int = 0


class _Cursor(Protocol):
    @property
    def is_done(self) -> bool: ...
    @property
    def left(self) -> int: ...
    async def step(self) -> list[Found]: ...


class _Forwards:
    def __init__(self, reader: RangeReader, bounds: LogBounds, tester: "_Tester") -> None:
        self._reader = reader
        self._at = bounds.beginning
        self._end = bounds.end
        self._tester = tester

    @property
    def is_done(self) -> bool:
        return self._at >= self._end

    @property
    def left(self) -> int:
        return max(0, self._end - self._at)

    async def step(self) -> list[Found]:
        piece = await self._reader.read_piece(self._at, self._end)
        self._at = piece.next_offset
        return await self._tester.matching(piece.records)


class _FromTheEnd:
    def __init__(self, reader: RangeReader, bounds: LogBounds, tester: "_Tester") -> None:
        self._beginning = bounds.beginning
        self._windows = Backwards(
            reader,
            bounds.beginning,
            bounds.end,
            window=_FIRST_WINDOW,
            budget=_KEPT_BYTES,
            select=tester.matching,
        )

    @property
    def is_done(self) -> bool:
        return self._windows.is_done

    @property
    def left(self) -> int:
        return max(0, self._windows.before - self._beginning)

    async def step(self) -> list[Found]:
        return (await self._windows.step())[::-1]


class _Tester:
    def __init__(self, test: Test, view: View) -> None:
        self._test = test
        self._view = view

    async def matching(self, records: list[Found]) -> list[Found]:
        await self._view.prepare(records)
        return await asyncio.to_thread(_matching, records, self._test, self._view)


async def search(
    cluster: UserCluster,
    ranges: Ranges,
    test: Test,
    view: View,
    progress: Progress,
    *,
    limit: int,
    newest_first: bool,
) -> AsyncGenerator[list[Found], None]:
    """Up to `limit` records that match, as they are found; an empty list is progress."""
    tester = _Tester(test, view)
    cursors: deque[_Cursor] = deque()
    for name, bounds in sorted(ranges.items()):
        reader = RangeReader(
            cluster.client, cluster.records, name, bounds.stable, max_bytes=_FETCH_BYTES
        )
        make = _FromTheEnd if newest_first else _Forwards
        cursors.append(make(reader, bounds, tester))
    cursors = deque(each for each in cursors if not each.is_done)
    progress.total = left = sum(each.left for each in cursors)
    running: dict[_Cursor, asyncio.Task[tuple[list[Found], int]]] = {}
    try:
        while cursors and limit > 0:
            for ahead in islice(cursors, _AT_ONCE):
                if ahead not in running:
                    running[ahead] = asyncio.ensure_future(_step(ahead))
            first = cursors.popleft()
            found, scanned = await running.pop(first)
            left -= scanned
            progress.scanned = progress.total - left
            if not first.is_done:
                cursors.append(first)
            found = found[:limit]
            limit -= len(found)
            yield found
    finally:
        for task in running.values():
            task.cancel()


async def _step(cursor: _Cursor) -> tuple[list[Found], int]:
    """What it has found, and how many offsets it has looked at."""
    before = cursor.left
    found = await cursor.step()
    return found, before - cursor.left


def _matching(records: list[Found], test: Test, view: View) -> list[Found]:
    """What is masked is not looked at either: a search must not tell it."""
    return [each for each in records if test(view.of(each.message))]
