"""The state of one partition: what is stored, and what the records that are being handled change.

    restoring -> restored -> current
                    ^           |
                    +-----------+  a round has failed: the changelog may have more than the file

Only a partition that is current hands out values. Whether it is so is asked of the changelog when
the first records of the partition have come: by then it is certain which offset was committed, and
so is what the changelog has up to there.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.app.state.changelog import ChangelogRows, StateRow
from barnabas.app.state.local_store import LocalStore, delete_file, is_one_of, open_store
from barnabas.app.undelivered import delivered
from barnabas.errors import BarnabasError, InvalidArgument

_NOT_WRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


class LocalStateDamaged(BarnabasError):  # noqa: N818 - it never leaves the application
    """A file can't be read: it is made again from the changelog."""

    retriable = True


class StatePartition:
    """Of one handler. `folder` None: in memory."""

    def __init__(self, partition: int, folder: Path | None, *, expires: bool) -> None:
        self._expires = expires
        self.partition = partition
        self._folder = folder
        self._store: LocalStore | None = None
        self._lock = threading.Lock()  # of the store, which a thread may be writing
        self._changes: dict[bytes, StateRow] = {}
        self._receipts: list[Any] = []
        self.is_restored = False
        self.is_current = False
        self.is_standby = False
        """Whether another process handles the partition, and this one follows its changelog."""
        self.restoring: asyncio.Task[None] | None = None
        self.done = 0
        self.total = 0
        """How many offsets of the changelog are restored, of how many."""

    @property
    def store(self) -> LocalStore:
        assert self._store is not None
        return self._store

    @property
    def is_open(self) -> bool:
        return self._store is not None

    async def open(self) -> None:
        await self._in_thread(self._open)

    def _open(self) -> None:
        with self._lock:
            try:
                self._store = open_store(self._folder, self.partition)
                if self._expires:
                    self._store.index_times()
            except (sqlite3.Error, OSError) as error:
                self._close_store()
                raise self._unopened(error) from error

    def _unopened(self, error: Exception) -> BarnabasError:
        """A full disk is waited for; where nothing can be written, a person has to decide."""
        what = f"the local state of partition {self.partition} in {self._folder}"
        if isinstance(error, sqlite3.Error) and not is_one_of(error, *_NOT_WRITABLE):
            return LocalStateDamaged(f"{what}: {error}")
        return InvalidArgument(
            f"{what} can't be written: {error}; give App a state_directory that can be"
        )

    # -- one round of records ------------------------------------------------------------------

    def get(self, key: bytes) -> StateRow | None:
        """With the changes of this round."""
        changed = self._changes.get(key)
        if changed is not None:
            return changed
        try:
            return self.store.get(key)
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from error

    def change(self, row: StateRow, receipt: Any) -> None:
        """A record was handled, and its change was sent to the changelog."""
        self._changes[row.key] = row
        self._receipts.append(receipt)

    def is_expiring(self, until_ms: int) -> bool:
        """Whether there is a value of that time, or an older one."""
        if not self.is_restored or self._store is None:
            return False
        oldest_ms = self._store.oldest_ms()
        return oldest_ms is not None and oldest_ms <= until_ms

    async def keep(self, now_ms: int, *, alone: bool) -> None:
        """The round is committed: store its changes.

        `alone`: nothing else is between them in the changelog, such as the end of a transaction.
        """
        if not self._receipts or self._store is None:
            return
        offsets = [each.offset for each in await delivered(self._receipts)]
        rows, count = list(self._changes.values()), len(offsets)
        self.discard()
        # Not so if a worker that was removed from the group has written as well.
        is_next = (
            min(offsets) == self.store.place.next_offset and max(offsets) - min(offsets) < count
        )
        if min(offsets) < self.store.place.next_offset or (alone and not is_next):
            self.is_current = False  # in the first case the changelog was created again
            return
        await self.apply(ChangelogRows(rows, max(offsets) + 1), now_ms)

    def discard(self) -> None:
        """Forget what the round has changed."""
        self._changes = {}
        self._receipts = []

    # -- the store -----------------------------------------------------------------------------

    async def apply(self, rows: ChangelogRows, complete_ms: int | None = None) -> None:
        """Store what follows; `complete_ms` is when there was no more, None if there is."""
        await self._in_thread(self._apply, rows, complete_ms)

    def _apply(self, rows: ChangelogRows, complete_ms: int | None) -> None:
        with self._lock:
            if self._store is not None:  # closed meanwhile
                try:
                    self._store.apply(rows.rows, rows.next_offset, complete_ms)
                except sqlite3.DatabaseError as error:
                    raise self.damaged(error) from error

    async def _in_thread(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._folder is None:
            function(*arguments)
        else:
            await asyncio.to_thread(function, *arguments)

    def damaged(self, error: sqlite3.DatabaseError) -> BarnabasError:
        """What to raise; a file that is broken is deleted."""
        path = self.store.path
        is_broken = is_one_of(error, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        if path is None or not is_broken:
            return LocalStateDamaged(f"state of partition {self.partition} in {path}: {error}")
        self.store.close()
        self._store = None
        delete_file(path)
        return LocalStateDamaged(f"{path} is damaged, and is made again from the changelog")

    async def stop_restoring(self) -> None:
        restoring, self.restoring = self.restoring, None
        if restoring is not None:
            restoring.cancel()
            await asyncio.gather(restoring, return_exceptions=True)

    async def close(self) -> None:
        await self.stop_restoring()
        self.is_restored = self.is_current = False
        await self._in_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            self._close_store()

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
