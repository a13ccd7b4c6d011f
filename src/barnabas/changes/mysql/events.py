"""Changes, from the events of transactions.

The events of a transaction are kept until it is committed: one that a crash has cut off, or that
ends with a ROLLBACK, is left out. Only of a transaction of more than 16 MB, changes come as they
are read. An update that changes the key is a delete of the old row and a create of the new one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import (
    Change,
    Operation,
    Transaction,
    TransactionEnd,
    TransactionStart,
)
from barnabas.changes.json_values import quoted
from barnabas.changes.mysql import binlog_events as log
from barnabas.changes.mysql.binlog_events import BinlogEvent
from barnabas.changes.mysql.position import number_of
from barnabas.changes.mysql.table_layout import TableLayout
from barnabas.changes.mysql.table_map import TableMap, table_id_of, table_map_of
from barnabas.changes.rows import Row
from barnabas.changes.table_shape import TableShape

_KEPT_BYTES: Final = 16_000_000
_VERSION_BYTES: Final = 52
_TRUNCATE: Final = re.compile(
    r"(?:/\*.*?\*/\s*)*TRUNCATE\s+(?:TABLE\s+)?(?:`?([^`.\s]+)`?\s*\.\s*)?`?([^`.\s;]+)`?",
    re.IGNORECASE | re.DOTALL,
)

Event: TypeAlias = Change | TransactionStart | TransactionEnd


class FollowedTable(NamedTuple):
    """A table that is read."""

    shape: TableShape
    layout: TableLayout


class EventAssembler:
    """Makes changes from the events of a log, in order."""

    def __init__(
        self,
        followed: Callable[[TableMap], FollowedTable | None],
        truncated: Callable[[str, str], TableShape | None],
        catalog_changed: Callable[[], None],
        skipped: frozenset[str],
    ) -> None:
        self._followed = followed
        self._truncated = truncated
        self._catalog_changed = catalog_changed
        self._skipped = skipped
        self._tables: dict[int, tuple[bytes, FollowedTable | None]] = {}
        self._is_mariadb = False
        self._gtid: log.Gtid | None = None
        self._transaction: Transaction | None = None
        self._thread: int | None = None
        self._kept: list[BinlogEvent] | None = []
        self._kept_bytes = 0
        self._counts: Counter[str] = Counter()

    @property
    def is_between_transactions(self) -> bool:
        return self._transaction is None

    def events(self, event: BinlogEvent) -> Iterator[Event]:
        """What an event means, and what was kept before it."""
        kind = event.kind
        self._note_format(event)
        if kind in log.ROWS or kind == log.TABLE_MAP:
            yield from self._row_event(event)
        elif kind in (log.MARIADB_GTID, log.GTID, log.ANONYMOUS_GTID, log.TAGGED_GTID):
            self._cut_off(event)
            self._begin(event, log.gtid_of(event))
        elif kind in (log.QUERY, log.QUERY_COMPRESSED):
            yield from self._query(event)
        elif kind in (log.XID, log.XA_PREPARE):
            yield from self._commit()
        elif kind == log.ROTATE:
            self._cut_off(event)
            self._tables.clear()  # numbers of tables start again with a server
        elif kind == log.PARTIAL_UPDATE:
            raise ChangesError(
                "the log has parts of JSON values only: SET GLOBAL binlog_row_value_options = '', "
                "and start again with a new snapshot"
            )
        elif kind == log.PAYLOAD:
            raise ChangesError(
                "the log has compressed transactions: SET GLOBAL binlog_transaction_compression = "
                "OFF, and start again with a new snapshot"
            )

    def about(self, event: BinlogEvent) -> int:
        """About how many changes an event has."""
        self._note_format(event)
        if event.kind == log.TABLE_MAP:
            self._describe(event)
        if event.kind not in log.ROWS:
            return 0
        rows = log.rows_of_event(event)
        table = self._tables.get(rows.table_id, (b"", None))[1]
        return 0 if table is None else table.layout.about(rows)

    def _note_format(self, event: BinlogEvent) -> None:
        if event.kind == log.FORMAT:
            self._is_mariadb = b"mariadb" in event.body[:_VERSION_BYTES].lower()

    # -- transactions ---------------------------------------------------------------------------

    def _begin(self, event: BinlogEvent, gtid: log.Gtid) -> None:
        self._gtid = gtid
        at = number_of(event.file, event.start)
        self._transaction = Transaction(gtid.number, at, event.time_s * 1_000_000, at, gtid.text)
        self._kept, self._kept_bytes = [], 0
        self._counts.clear()
        self._thread = None

    def _query(self, event: BinlogEvent) -> Iterator[Event]:
        query = log.query_of(event)
        word = query.text[:12].upper()
        if word == "BEGIN":
            if self._transaction is None:
                self._begin(event, log.Gtid(None, event.start, False))
            self._thread = query.thread_id
        elif word == "COMMIT":
            yield from self._commit()
        elif word == "ROLLBACK":
            self._discard("was rolled back", event)
        elif not word.startswith(("SAVEPOINT", "ROLLBACK TO", "XA ")):
            yield from self._statement(event, query)
        elif self._gtid is not None and self._gtid.is_standalone:
            self._end()

    def _statement(self, event: BinlogEvent, query: log.Query) -> Iterator[Event]:
        """A change of tables' definitions, which commits."""
        self._catalog_changed()
        self._tables.clear()
        found = _TRUNCATE.match(query.text)
        if self._transaction is None:
            self._begin(event, log.Gtid(None, event.start, True))
        if found is not None and "t" not in self._skipped:
            table = self._truncated(found[1] or query.database, found[2])
            if table is not None:
                yield from self._change(event, 0, table, "t", None, None)
        yield from self._commit()

    def _commit(self) -> Iterator[Event]:
        for each in self._kept or ():
            yield from self._changes(each)
        if self._transaction is not None and self._counts:
            yield TransactionEnd(self._transaction, dict(self._counts))
        self._end()

    def _end(self) -> None:
        self._transaction = self._gtid = None
        self._kept, self._kept_bytes = [], 0
        self._counts.clear()

    def _cut_off(self, event: BinlogEvent) -> None:
        if self._transaction is not None:
            self._discard("has no end, the server was killed", event)

    def _discard(self, why: str, event: BinlogEvent) -> None:
        if self._counts:
            raise ChangesError(
                f"a transaction of more than 16 MB before {event.file}:{event.start} {why}, and "
                "its changes were read already: start again with a new snapshot"
            )
        self._end()

    # -- rows -----------------------------------------------------------------------------------

    def _row_event(self, event: BinlogEvent) -> Iterator[Event]:
        if self._transaction is None:
            self._begin(event, log.Gtid(None, event.start, False))
        if self._kept is None:
            yield from self._changes(event)
            return
        self._kept.append(event)
        self._kept_bytes += len(event.body)
        if self._kept_bytes > _KEPT_BYTES:
            kept, self._kept = self._kept, None
            for each in kept:
                yield from self._changes(each)

    def _describe(self, event: BinlogEvent) -> None:
        number, body = table_id_of(event.body), event.body
        if self._tables.get(number, (b"", None))[0] != body:
            self._tables[number] = (
                body,
                self._followed(table_map_of(body, is_mariadb=self._is_mariadb)),
            )

    def _changes(self, event: BinlogEvent) -> Iterator[Event]:
        if event.kind == log.TABLE_MAP:
            self._describe(event)
            return
        op = log.ROWS[event.kind]
        table = self._tables.get(table_id_of(event.body), (b"", None))[1]
        if table is None:
            return
        rows = log.rows_of_event(event)
        shape = table.shape
        for number, (before, after) in enumerate(table.layout.images(rows)):
            if op == "c":
                yield from self._change(event, number, shape, "c", None, after)
            elif op == "d":
                yield from self._change(event, number, shape, "d", before, None)
            elif _key_differs(shape, before, after):
                yield from self._change(event, number, shape, "d", before, None, newkey=True)
                yield from self._change(event, number, shape, "c", None, after, newkey=True)
            else:
                yield from self._change(event, number, shape, "u", before, after)

    def _change(
        self,
        event: BinlogEvent,
        number: int,
        table: TableShape,
        op: Operation,
        before: Row | None,
        after: Row | None,
        *,
        newkey: bool = False,
    ) -> Iterator[Event]:
        if op in self._skipped:
            return
        transaction = self._transaction
        assert transaction is not None
        if not self._counts:
            yield TransactionStart(transaction)
        name = table.full_name
        self._counts[name] += 1
        gtid = "null" if transaction.gtid is None else f'"{transaction.gtid}"'
        thread = "null" if self._thread is None else self._thread
        yield Change(
            op,
            table,
            # A row takes more than a byte, so these are in the order of the rows.
            number_of(event.file, event.start) + number,
            event.time_s * 1_000_000,
            before,
            after,
            transaction,
            self._counts.total(),
            self._counts[name],
            newkey,
            place=f'"server_id":{event.server_id},"gtid":{gtid},"file":{quoted(event.file)},'
            f'"pos":{event.start},"row":{number},"thread":{thread},"query":null',
        )


def _key_differs(table: TableShape, before: Row | None, after: Row | None) -> bool:
    if not table.key or before is None or after is None:
        return False
    return table.key_values(before) != table.key_values(after)
