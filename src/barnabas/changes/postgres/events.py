"""Changes, from the messages of transactions.

An update that changes the key is a delete of the old row and a create of the new one, as Debezium
has it: a table of rows by their key needs nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from barnabas.changes.events import Change, Operation, Transaction, TransactionEnd, TransactionStart
from barnabas.changes.postgres.pgoutput import (
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    MalformedMessage,
    Message,
    Relation,
    Truncate,
    TypeName,
    Update,
)
from barnabas.changes.rows import UNCHANGED, Row
from barnabas.changes.table_shape import TableShape


class MessageEvent(NamedTuple):
    """A logical message."""

    message: LogicalMessage
    transaction: Transaction | None
    time_us: int


Event: TypeAlias = Change | TransactionStart | TransactionEnd | MessageEvent


@dataclass
class EventAssembler:
    """Makes events from messages, from position `start` on and before `end`.

    A transaction counts if its commit record starts there, and counts whole.
    """

    start: int
    end: int
    shape: Callable[[Relation], TableShape | None]
    """How a table's rows are written; None if it is not read."""
    wants_message: Callable[[str], bool]
    skipped: frozenset[str] = frozenset()
    type_changed: Callable[[], None] = lambda: None
    is_over: bool = field(default=False, init=False)
    """Whether a transaction at `end` or later has come."""

    def __post_init__(self) -> None:
        self._shapes: dict[int, TableShape | None] = {}
        self._transaction: Transaction | None = None
        self._before = self.start
        self.transaction_ids: set[int] = set()
        """Of all transactions that commit before `end`."""
        self._counts: Counter[str] = Counter()

    def events(self, lsn: int, message: Message) -> Iterator[Event]:
        """What a message at this position means."""
        match message:
            case Begin():
                self.is_over = message.commit_lsn >= self.end
                if not self.is_over:
                    self.transaction_ids.add(message.transaction_id)
                self._transaction = (
                    None
                    if self.is_over or message.commit_lsn < self.start
                    else Transaction(
                        message.transaction_id,
                        message.commit_lsn,
                        message.commit_time_us,
                        self._before,
                    )
                )
                self._counts.clear()
            case Relation():
                self._shapes[message.relation_id] = self.shape(message)
            case TypeName():
                self.type_changed()
            case Commit():
                if self._transaction is not None and self._counts:
                    yield TransactionEnd(self._transaction, dict(self._counts))
                self._transaction = None
                self._before = message.end_lsn
            case LogicalMessage():
                yield from self._message(message)
            case Insert() | Update() | Delete() | Truncate():
                if self._transaction is not None:
                    yield from self._changes(self._transaction, lsn, message)

    def _message(self, message: LogicalMessage) -> Iterator[Event]:
        if not self.wants_message(message.prefix):
            return
        if message.transactional:
            if self._transaction is not None:
                yield MessageEvent(message, self._transaction, self._transaction.commit_time_us)
        elif self.start <= message.lsn < self.end:
            yield MessageEvent(message, None, 0)

    def _changes(
        self, transaction: Transaction, lsn: int, message: Insert | Update | Delete | Truncate
    ) -> Iterator[Event]:
        if isinstance(message, Truncate):
            for relation_id in message.relation_ids:
                yield from self._change(transaction, lsn, relation_id, "t", None, None)
            return
        relation_id = message.relation_id
        if isinstance(message, Insert):
            yield from self._change(transaction, lsn, relation_id, "c", None, message.new)
        elif isinstance(message, Delete):
            yield from self._change(transaction, lsn, relation_id, "d", message.old, None)
        else:
            yield from self._update(transaction, lsn, message)

    def _update(self, transaction: Transaction, lsn: int, message: Update) -> Iterator[Event]:
        table = self._shape_of(message.relation_id)
        if table is None:
            return
        old, new = message.old, message.new
        if old is not None:
            new = _completed(old, new, of_key=message.old_is_key)
            if table.key and table.key_values(old) != table.key_values(new):
                number = message.relation_id
                yield from self._change(transaction, lsn, number, "d", old, None, newkey=True)
                yield from self._change(transaction, lsn, number, "c", None, new, newkey=True)
                return
        before = None if message.old_is_key else old
        yield from self._change(transaction, lsn, message.relation_id, "u", before, new)

    def _change(
        self,
        transaction: Transaction,
        lsn: int,
        relation_id: int,
        op: Operation,
        before: Row | None,
        after: Row | None,
        *,
        newkey: bool = False,
    ) -> Iterator[Event]:
        table = self._shape_of(relation_id)
        if table is None or op in self.skipped:
            return
        if not self._counts:
            yield TransactionStart(transaction)
        self._counts[table.full_name] += 1
        yield Change(
            op,
            table,
            lsn,
            transaction.commit_time_us,
            before,
            after,
            transaction,
            self._counts.total(),
            self._counts[table.full_name],
            newkey,
        )

    def _shape_of(self, relation_id: int) -> TableShape | None:
        if relation_id not in self._shapes:
            raise MalformedMessage(
                f"a change of table {relation_id}, which pgoutput has not described"
            )
        return self._shapes[relation_id]


def _completed(old: Row, new: Row, *, of_key: bool) -> Row:
    """The new row, with values that were not sent from the old one where that has them."""
    if UNCHANGED not in new:
        return new
    return tuple(
        before if after is UNCHANGED and not (of_key and before is None) else after
        for before, after in zip(old, new, strict=True)
    )
