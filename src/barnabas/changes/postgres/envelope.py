"""Changes as records for topics, in Debezium's envelope.

    topic  shop.public.orders
    key    {"id":7}
    value  {"before":null,"after":{"id":7,…},"source":{…},"op":"c","ts_ms":…,"transaction":null}

This is JSON as Connect's converter writes it without schemas. Everything follows from the log, so
the same changes give the same bytes whenever they are read: `ts_ms` is the time of the commit,
where Debezium has its own clock.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.changes.postgres.events import (
    Change,
    Event,
    MessageEvent,
    Transaction,
    TransactionEnd,
    TransactionStart,
)
from barnabas.changes.postgres.pgoutput import Row
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.changes.postgres.table_shape import TableShape
from barnabas.changes.postgres.values import quoted

VERSION = "barnabas-0.1.0"
"""What `source.version` says, where Debezium has its own."""


class ChangeRecord(NamedTuple):
    """A record for a topic; a tombstone has no value."""

    topic: str
    key: str | None
    value: str | None


class Envelope:
    """Writes events as records."""

    def __init__(self, settings: ChangeSettings) -> None:
        self._prefix = settings.topic_prefix
        self._tombstones = settings.tombstones
        self._transactions = settings.transaction_metadata
        self._head = (
            f'{{"version":"{VERSION}","connector":"postgresql","name":{quoted(self._prefix)},'
        )
        self._database = quoted(settings.dbname)

    def records(self, event: Event) -> Iterator[ChangeRecord]:
        """The records of an event, in the order in which they are to be written."""
        if isinstance(event, Change):
            yield from self._change(event)
        elif isinstance(event, MessageEvent):
            yield self._message(event)
        elif self._transactions:
            yield self._boundary(event)

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

    def _source(self, change: Change) -> str:
        transaction = change.transaction
        return (
            f"{self._head}{_times(change.time_us)},"
            f'"snapshot":"{_snapshot(change)}",'
            f'"db":{self._database},"sequence":{_sequence(transaction, change.lsn)},'
            f'"schema":{quoted(change.table.schema)},"table":{quoted(change.table.name)},'
            f'"txId":{"null" if transaction is None else transaction.transaction_id},'
            f'"lsn":{change.lsn},"xmin":null}}'
        )

    def _part_of(self, change: Change) -> str:
        if not self._transactions or change.transaction is None:
            return "null"
        return (
            f'{{"id":"{_id(change.transaction)}","total_order":{change.total_order},'
            f'"data_collection_order":{change.table_order}}}'
        )

    def _boundary(self, event: TransactionStart | TransactionEnd) -> ChangeRecord:
        transaction = event.transaction
        named = _id(transaction)
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
        return ChangeRecord(f"{self._prefix}.transaction", _json({"id": named}), _json(value))

    def _message(self, event: MessageEvent) -> ChangeRecord:
        message, transaction = event.message, event.transaction
        number = "null" if transaction is None else transaction.transaction_id
        content = b64encode(message.content).decode()
        value = (
            f'{{"op":"m","ts_ms":{event.time_us // 1000},"source":{self._head}'
            f'{_times(event.time_us)},"snapshot":"false","db":{self._database},'
            f'"sequence":{_sequence(transaction, message.lsn)},"schema":"","table":"",'
            f'"txId":{number},"lsn":{message.lsn},"xmin":null}},'
            f'"message":{{"prefix":{quoted(message.prefix)},"content":"{content}"}}}}'
        )
        return ChangeRecord(f"{self._prefix}.message", _json({"prefix": message.prefix}), value)


def _row(table: TableShape, row: Row | None) -> str:
    return "null" if row is None else table.row_json(row)


def _snapshot(change: Change) -> str:
    if change.is_incremental:
        return "incremental"
    return "true" if change.transaction is None else "false"


def _sequence(transaction: Transaction | None, lsn: int) -> str:
    """Where the transaction before ended, and the position of the change: JSON in a JSON string."""
    before = "null" if transaction is None else f'\\"{transaction.before_lsn}\\"'
    return f'"[{before},\\"{lsn}\\"]"'


def _id(transaction: Transaction) -> str:
    return f"{transaction.transaction_id}:{transaction.commit_lsn}"


def _times(micros: int) -> str:
    return f'"ts_ms":{micros // 1000},"ts_us":{micros},"ts_ns":{micros * 1000}'


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
