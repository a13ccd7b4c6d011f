"""The state of one partition in a SQLite file: a cache of what the changelog has.

The file knows up to which offset of which topic it was read, and when it had all that there was. It
has not while it is read for the first time, or after a break: what deletes its keys may follow. One
process uses it at a time: others on the same machine, such as standbys, have files of their own
with other numbers.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from barnabas.app.state.changelog import StateRow
from barnabas.app.state.folder import OWNER_ONLY

_VERSION = 2
_FILES = 1000
_PAGES = 16 * 1024 * 1024  # bytes that SQLite keeps in memory for each open partition
_TABLES = """
CREATE TABLE IF NOT EXISTS state (
    key BLOB PRIMARY KEY, value BLOB NOT NULL, written_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS place (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    topic_id BLOB NOT NULL, next_offset INTEGER NOT NULL,
    begun_ms INTEGER NOT NULL, complete_ms INTEGER NOT NULL
);
"""


class StorePlace(NamedTuple):
    """Which changelog a file is of, and how much of it the file has."""

    topic_id: bytes = b""
    next_offset: int = 0
    begun_ms: int = 0
    """When the changelog was begun to be read from its beginning."""
    complete_ms: int = 0
    """When the file had all that the changelog had, the last time; 0 if it never had."""


class LocalStore:
    """Of one partition. `path` None: in memory."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._connection = connection
        self.path = path
        found = connection.execute(
            "SELECT topic_id, next_offset, begun_ms, complete_ms FROM place"
        ).fetchone()
        self.place = StorePlace() if found is None else StorePlace(*found)

    def get(self, key: bytes) -> StateRow | None:
        found = self._connection.execute(
            "SELECT value, written_ms FROM state WHERE key = ?", (key,)
        ).fetchone()
        return None if found is None else StateRow(key, *found)

    def apply(
        self, rows: Iterable[StateRow], next_offset: int, complete_ms: int | None = None
    ) -> None:
        """What follows in the changelog, up to an offset, all of it or nothing.

        `complete_ms`: when there was no more than that; None if there is more to read.
        """
        latest = {each.key: each for each in rows}
        deleted = [(each.key,) for each in latest.values() if each.value is None]
        written = [each for each in latest.values() if each.value is not None]
        with self._connection as connection:
            if deleted:
                connection.executemany("DELETE FROM state WHERE key = ?", deleted)
            if written:
                connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", written)
            place = self.place._replace(next_offset=next_offset)
            if complete_ms is not None:
                place = place._replace(complete_ms=complete_ms)
            self._store_place(place)
        self.place = place  # not before it is committed: a full disk is noticed there

    def clear(self, topic_id: bytes, now_ms: int) -> None:
        """Begin again, at the beginning of a changelog."""
        with self._connection as connection:
            connection.execute("DELETE FROM state")
            place = StorePlace(topic_id, begun_ms=now_ms)
            self._store_place(place)
        self.place = place

    def _store_place(self, place: StorePlace) -> None:
        self._connection.execute("INSERT OR REPLACE INTO place VALUES (1, ?, ?, ?, ?)", place)

    def rows(self) -> Iterator[StateRow]:
        """All keys with their values."""
        for found in self._connection.execute("SELECT key, value, written_ms FROM state"):
            yield StateRow(*found)

    def index_times(self) -> None:
        """For who asks for the oldest rows."""
        self._connection.execute("CREATE INDEX IF NOT EXISTS written ON state (written_ms)")

    def oldest_ms(self) -> int | None:
        """When the oldest value was written; None if there is none."""
        (found,) = self._connection.execute("SELECT MIN(written_ms) FROM state").fetchone()
        return None if found is None else int(found)

    def written_until(self, time_ms: int, limit: int) -> list[bytes]:
        """Keys whose values were written then or before, the oldest first."""
        found = self._connection.execute(
            "SELECT key FROM state WHERE written_ms <= ? ORDER BY written_ms LIMIT ?",
            (time_ms, limit),
        )
        return [key for (key,) in found]

    def close(self) -> None:
        self._connection.close()


def open_store(folder: Path | None, partition: int) -> LocalStore:
    """The file of a partition that no other process uses; one that is damaged is replaced."""
    if folder is None:
        return LocalStore(_connected(":memory:"), None)
    folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    for number in range(_FILES):
        path = folder / f"{partition}.{number}.sqlite"
        try:
            return LocalStore(_connected(str(path)), path)
        except sqlite3.OperationalError as error:
            if not is_one_of(error, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        except sqlite3.DatabaseError:
            delete_file(path)
            return LocalStore(_connected(str(path)), path)
    raise OSError(f"all files of partition {partition} in {folder} are in use")


def is_one_of(error: sqlite3.Error, *codes: int) -> bool:
    """Whether an error has one of these primary codes; SQLite tells extended ones."""
    return error.sqlite_errorcode & 0xFF in codes


def delete_file(path: Path) -> None:
    """With what SQLite keeps next to it."""
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")):
        with suppress(FileNotFoundError):
            each.unlink()


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=0, check_same_thread=False)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_PAGES // 1024}")
        with closing(connection.execute("PRAGMA user_version")) as found:
            (version,) = found.fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"version {version}")
        connection.execute("BEGIN IMMEDIATE")  # locked from here on, until it is closed
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        for each in _TABLES.split(";"):
            connection.execute(each)
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection
