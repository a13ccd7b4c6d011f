"""The log as the slot gives it: messages of pgoutput, which are read without consuming any."""

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from barnabas.changes.postgres import slot
from barnabas.changes.postgres.connection import KeptConnection, explained
from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.changes.postgres.settings import ChangeSettings

if TYPE_CHECKING:
    from psycopg import Connection

_FETCH_ROWS: Final = 1_000
_COMMIT: Final = ord("C")


class SlotLog:
    """Reads a slot; `connected` gives the connection on which everything else is asked."""

    def __init__(
        self, settings: ChangeSettings, connected: "Callable[[], Connection[Any]]"
    ) -> None:
        self._settings = settings
        self._connected = connected
        self._stream = KeptConnection(settings)

    def peek(self, end: int) -> Iterator[tuple[int, bytes]]:
        """Positions and messages, from the slot's own position on; none is consumed."""
        from psycopg import capabilities

        settings = self._settings
        # Tables and types are looked up while messages are read, on the other connection.
        connection = self._stream.get()
        size = _FETCH_ROWS if capabilities.has_stream_chunked() else 1
        query = (
            "SELECT lsn, data FROM pg_logical_slot_peek_binary_changes"
            "(%s, %s::pg_lsn, NULL, VARIADIC %s::text[])"
        )
        parameters = (settings.slot_name, format_lsn(end), self._options())
        with (
            explained(settings, f"can't read slot {settings.slot_name}"),
            connection.cursor(binary=True) as cursor,
        ):

            def begin() -> tuple[Any, Iterator[Any]]:
                rows = cursor.stream(query, parameters, size=size)
                return next(rows, None), rows

            first, rows = slot.when_free(connection, settings, begin)
            if first is None:
                return
            for lsn, data in itertools.chain([first], rows):
                yield int.from_bytes(lsn, "big"), data

    def limited(self, start: int, end: int, max_changes: int) -> int:
        """The end of a transaction before `end`, with which there are so many changes or more.

        The server counts from where the slot is, which may be before `start`.
        """
        wanted = max_changes
        while True:
            count, last = self._counted(end, wanted)
            if count < wanted:
                return end
            if last is not None and last > start:
                return min(last, end)
            wanted *= 4

    def last_end(self, end: int) -> int | None:
        """Where the last transaction up to `end` ends."""
        return self._counted(end, None)[1]

    def close(self) -> None:
        self._stream.close()

    def _counted(self, end: int, wanted: int | None) -> tuple[int, int | None]:
        """How many messages there are up to `end`, and where the last transaction of them ends."""
        settings = self._settings
        query = (
            "SELECT count(*), (max(lsn) FILTER (WHERE get_byte(data, 0) = %s AND lsn <= %s))::text "
            "FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s, VARIADIC %s::text[])"
        )
        until = format_lsn(end)
        given = (_COMMIT, until, settings.slot_name, until, wanted, self._options())

        def count() -> tuple[int, int | None]:
            row = self._connected().execute(query, given).fetchone()
            if row is None:
                return 0, None
            return row[0], None if row[1] is None else parse_lsn(row[1])

        with explained(settings, f"can't read slot {settings.slot_name}"):
            return slot.when_free(self._connected(), settings, count)

    def _options(self) -> list[str]:
        """Of pgoutput: names and values."""
        name = self._settings.publication_name.replace('"', '""')
        messages = ["messages", "true"] if self._settings.message_prefixes else []
        return ["proto_version", "1", "publication_names", f'"{name}"', *messages]
