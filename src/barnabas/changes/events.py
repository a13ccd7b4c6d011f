"""Changes of rows, and the transactions that they are part of."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from barnabas.changes.rows import Row
from barnabas.changes.table_shape import TableShape

Operation = Literal["c", "u", "d", "r", "t"]


class Transaction(NamedTuple):
    """The transaction that a change is part of."""

    transaction_id: int
    commit_lsn: int
    commit_time_us: int
    before_lsn: int
    """Where the one before ended, or the read started."""
    gtid: str | None = None
    """Its number in all servers that have it, where the database has such numbers."""


class Change(NamedTuple):
    """A change of one row, or of a whole table (truncate)."""

    op: Operation
    table: TableShape
    lsn: int
    time_us: int
    """Of the commit; of a snapshot, when it was taken."""
    before: Row | None
    after: Row | None
    transaction: Transaction | None
    """None in a snapshot."""
    total_order: int
    """Its number within the transaction, from 1 on."""
    table_order: int
    """Its number among the transaction's changes of the same table."""
    newkey: bool = False
    """Whether it is half of an update that changed the key: of a delete, a create follows."""
    is_incremental: bool = False
    """Whether it is a row of an incremental snapshot."""
    place: str = ""
    """Fields of `source` that say where in the log it is, where `lsn` alone does not."""

    @property
    def snapshot(self) -> str:
        """What `source.snapshot` says of it."""
        if self.is_incremental:
            return "incremental"
        return "true" if self.transaction is None else "false"

    @property
    def row(self) -> Row | None:
        """The row as it is now, or as it was if it is deleted."""
        return self.before if self.op == "d" else self.after


class TransactionStart(NamedTuple):
    """Before the first change of a transaction."""

    transaction: Transaction


class TransactionEnd(NamedTuple):
    """After its last one, with the numbers of changes by table."""

    transaction: Transaction
    counts: Mapping[str, int]
