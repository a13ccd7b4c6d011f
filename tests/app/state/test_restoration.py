"""Files of partitions that are brought to where the changelog is."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest

from barnabas import App, State
from barnabas.app.handler import Handler
from barnabas.app.memory_topics import MemoryTopics, TestClock
from barnabas.app.state.changelog import ChangelogRows, Extent, StateRow
from barnabas.app.state.local_store import LocalStore, StorePlace, open_store
from barnabas.app.state.memory_changelog import MemoryChangelog
from barnabas.app.state.restoration import Restoration
from barnabas.app.state.state_partition import StatePartition
from barnabas.errors import BrokerUnreachable

CHANGELOG = "g.count.total.changelog"
HOUR_MS = 3600 * 1000


def counter() -> Handler:
    app = App()

    @app.handler("numbers", group="g")
    def count(number: str, total: State[int]) -> None: ...

    return app.handlers["count"]


def test_a_copy_that_follows_an_idle_changelog_does_not_get_old() -> None:
    clock = TestClock()
    topics = MemoryTopics(clock)
    topics.append(CHANGELOG, (7).to_bytes(8), b"a", ())
    restoration = Restoration(counter(), MemoryChangelog(topics.records, CHANGELOG), clock)
    copy = StatePartition(0, None, expires=False)

    async def follow() -> None:
        await restoration.bring_up(copy)
        for _ in range(20):
            clock.now_ms += 2 * HOUR_MS
            await restoration.bring_up(copy)
            assert copy.store.place.complete_ms == clock.time_ms()
        copy.total = 0
        await restoration.bring_up(copy)
        assert copy.total == 0  # nothing was read again
        assert copy.store.get(b"a") is not None

    asyncio.run(follow())


class CompactedChangelog(MemoryChangelog):
    """One whose brokers go away after some offsets, and which is compacted meanwhile."""

    def __init__(self, clock: TestClock) -> None:
        super().__init__({}, CHANGELOG)
        self._clock = clock
        self.rows: dict[int, StateRow] = {}
        self.end = 0
        self.breaks_after: int | None = None
        self.starts: list[int] = []
        self.takes_ms = 0

    def write(self, key: bytes, value: bytes | None) -> None:
        self.rows[self.end] = StateRow(key, value, self._clock.now_ms)
        self.end += 1

    def compact(self) -> None:
        """What deletes a key is kept for a day."""
        latest = {each.key: offset for offset, each in self.rows.items()}
        self.rows = {
            offset: each
            for offset, each in self.rows.items()
            if latest[each.key] == offset
            and (each.value is not None or self._clock.now_ms - each.written_ms <= 24 * HOUR_MS)
        }

    async def extents(
        self, partitions: Sequence[int], *, committed: bool = False
    ) -> dict[int, Extent]:
        found = dict.fromkeys(partitions, Extent(b"one", 0, self.end))
        self._clock.now_ms += self.takes_ms
        return found

    async def read(self, _partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        self.starts.append(start)
        for offset in range(start, end):
            if self.breaks_after is not None and offset >= self.breaks_after:
                raise BrokerUnreachable("gone")
            rows = [self.rows[offset]] if offset in self.rows else []
            yield ChangelogRows(rows, offset + 1)


class Worker:
    """Restores one partition, in a process that ends after it."""

    def __init__(self, folder: Path) -> None:
        self.clock = TestClock()
        self.changelog = CompactedChangelog(self.clock)
        self._folder = folder

    def restores(self, breaks_after: int | None = None) -> dict[bytes, bytes | None]:
        """What it has at last."""
        self.changelog.breaks_after = breaks_after
        return asyncio.run(self._restores())

    async def _restores(self) -> dict[bytes, bytes | None]:
        one = StatePartition(0, self._folder, expires=False)
        restoration = Restoration(counter(), self.changelog, self.clock)
        try:
            await restoration.bring_up(one)
            return {row.key: row.value for row in one.store.rows()}
        finally:
            await one.close()


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path)


def write_a_deleted_key(worker: Worker) -> None:
    """Offset 0 has a value, and offset 2 deletes it; 20 hours later."""
    worker.changelog.write(b"gone", b"1")
    worker.changelog.write(b"kept", b"1")
    worker.changelog.write(b"gone", None)
    worker.clock.now_ms += 20 * HOUR_MS
    worker.changelog.write(b"late", b"1")


def test_a_first_reading_that_was_cut_short_brings_no_deleted_key_back(worker: Worker) -> None:
    write_a_deleted_key(worker)
    with pytest.raises(BrokerUnreachable):
        worker.restores(breaks_after=2)
    worker.clock.now_ms += 11 * HOUR_MS
    worker.changelog.compact()
    assert worker.restores() == {b"kept": b"1", b"late": b"1"}
    assert worker.changelog.starts == [0, 0]


def test_a_later_reading_that_was_cut_short_makes_the_file_no_younger(worker: Worker) -> None:
    worker.changelog.write(b"gone", b"1")
    worker.changelog.write(b"kept", b"1")
    worker.restores()
    worker.changelog.write(b"kept", b"2")
    worker.changelog.write(b"gone", None)
    worker.clock.now_ms += 11 * HOUR_MS
    with pytest.raises(BrokerUnreachable):
        worker.restores(breaks_after=3)
    worker.clock.now_ms += 11 * HOUR_MS
    worker.changelog.compact()
    assert worker.restores() == {b"kept": b"2"}
    worker.clock.now_ms += 3 * HOUR_MS
    worker.changelog.compact()
    assert worker.restores() == {b"kept": b"2"}
    assert worker.changelog.starts == [0, 2, 0]


def test_a_file_is_complete_at_the_time_when_the_end_was_asked_for(worker: Worker) -> None:
    """What deletes a key may be written while it is read."""
    worker.changelog.write(b"gone", b"1")
    worker.changelog.takes_ms = 7 * HOUR_MS
    worker.restores()
    worker.changelog.write(b"kept", b"1")
    worker.restores()
    assert worker.changelog.starts == [0, 0]


def test_a_first_reading_is_continued_after_a_short_break(worker: Worker) -> None:
    write_a_deleted_key(worker)
    with pytest.raises(BrokerUnreachable):
        worker.restores(breaks_after=2)
    worker.clock.now_ms += HOUR_MS // 2
    assert worker.restores() == {b"kept": b"1", b"late": b"1"}
    assert worker.changelog.starts == [0, 2]


class FullDisk:
    """A connection whose commits fail, as they do where a disk is full."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.rollback()
        raise sqlite3.OperationalError("database or disk is full")


def test_what_could_not_be_committed_is_read_again(tmp_path: Path) -> None:
    store = open_store(tmp_path, 0)
    store.clear(b"one", 5)
    store.apply([StateRow(b"a", b"1", 5)], 1, 6)
    full = LocalStore(FullDisk(store._connection), store.path)  # type: ignore[arg-type]
    for change in (
        lambda: full.apply([StateRow(b"a", b"2", 7)], 2, 7),
        lambda: full.clear(b"two", 7),
    ):
        with pytest.raises(sqlite3.OperationalError, match="full"):
            change()
        assert full.place == store.place == (b"one", 1, 5, 6)
    store.close()
    again = open_store(tmp_path, 0)
    assert again.place == (b"one", 1, 5, 6)
    again.close()


def test_a_file_of_an_earlier_format_is_made_again(tmp_path: Path) -> None:
    """It does not say whether it is complete."""
    store = open_store(tmp_path, 0)
    store.clear(b"one", 5)
    store.apply([StateRow(b"a", b"1", 5)], 1, 6)
    store.close()
    with closing(sqlite3.connect(str(store.path))) as connection:
        connection.execute("PRAGMA user_version = 1")
    again = open_store(tmp_path, 0)
    assert again.path == store.path
    assert again.place == StorePlace()
    assert again.get(b"a") is None
    again.close()
