"""Changes as records for topics, in Debezium's envelope.

    topic  shop.public.orders
    key    {"id":7}
    value  {"before":null,"after":{"id":7,…},"source":{…},"op":"c","ts_ms":…,"transaction":null}

This is JSON as Connect's converter writes it without schemas. Everything follows from the log, so
the same changes give the same bytes whenever they are read: `ts_ms` is the time of the commit,
where Debezium has its own clock.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.changes.events import Change, Transaction, TransactionEnd, TransactionStart
from barnabas.changes.json_values import quoted
from barnabas.changes.rows import Row
from barnabas.changes.table_shape import TableShape

VERSION = "barnabas-0.1.0"
"""What `source.version` says, where Debezium has its own."""


class ChangeRecord(NamedTuple):
    """A record for a topic; a tombstone has no value."""

    topic: str
    key: str | None
    value: str | None


class ChangeEnvelope(ABC):
    """Writes changes as records."""

    def __init__(
        self, connector: str, prefix: str, *, tombstones: bool, transactions: bool
    ) -> None:
        self._prefix = prefix
        self._tombstones = tombstones
        self._transactions = transactions
        self._head = f'{{"version":"{VERSION}","connector":"{connector}","name":{quoted(prefix)},'

    @abstractmethod
    def _source(self, change: Change) -> str:
        """Where a change comes from, as a JSON object."""

    @abstractmethod
    def _id(self, transaction: Transaction) -> str:
        """The name of a transaction."""

    def _change(self, change: Change) -> Iterator[ChangeRecord]:
        table = change.table
        row = change.row
        key = None if row is None else table.key_json(row)
        topic = f"{self._prefix}.{table.full_name}"
        value = (
            f'{{"before":{_row(table, change.before)},"after":{_row(table, change.after)},'
            f'"source":{self._source(change)},'
            f'"op":"{change.op}","ts_ms":{change.time_us // 1000},'
            f'"transaction":{self._part_of(change)}}}'
        )
        yield ChangeRecord(topic, key, value)
        if change.op == "d" and self._tombstones and key is not None:
            yield ChangeRecord(topic, key, None)

    def _part_of(self, change: Change) -> str:
        if not self._transactions or change.transaction is None:
            return "null"
        return (
            f'{{"id":"{self._id(change.transaction)}","total_order":{change.total_order},'
            f'"data_collection_order":{change.table_order}}}'
        )

    def _boundary(self, event: TransactionStart | TransactionEnd) -> ChangeRecord:
        transaction = event.transaction
        named = self._id(transaction)
        is_end = isinstance(event, TransactionEnd)
        counts = event.counts if isinstance(event, TransactionEnd) else {}
        tables = [
            {"data_collection": name, "event_count": count}
            for name, count in sorted(counts.items())
        ]
        value = {
            "status": "END" if is_end else "BEGIN",
            "id": named,
            "ts_ms": transaction.commit_time_us // 1000,
            "event_count": sum(counts.values()) if is_end else None,
            "data_collections": tables if is_end else None,
        }
        return ChangeRecord(
            f"{self._prefix}.transaction", compact_json({"id": named}), compact_json(value)
        )


def _row(table: TableShape, row: Row | None) -> str:
    return "null" if row is None else table.row_json(row)


def times_json(micros: int) -> str:
    """The fields of `source` for a time."""
    return f'"ts_ms":{micros // 1000},"ts_us":{micros},"ts_ns":{micros * 1000}'


def compact_json(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
