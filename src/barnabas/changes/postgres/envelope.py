"""Changes of a PostgreSQL as records for topics."""

from base64 import b64encode
from collections.abc import Iterator

from barnabas.changes.envelope import ChangeEnvelope, ChangeRecord, compact_json, times_json
from barnabas.changes.events import Change, Transaction
from barnabas.changes.json_values import quoted
from barnabas.changes.postgres.events import Event, MessageEvent
from barnabas.changes.postgres.settings import ChangeSettings


class Envelope(ChangeEnvelope):
    """Writes events as records."""

    def __init__(self, settings: ChangeSettings) -> None:
        super().__init__(
            "postgresql",
            settings.topic_prefix,
            tombstones=settings.tombstones,
            transactions=settings.transaction_metadata,
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

    def _source(self, change: Change) -> str:
        transaction = change.transaction
        return (
            f"{self._head}{times_json(change.time_us)},"
            f'"snapshot":"{change.snapshot}",'
            f'"db":{self._database},"sequence":{_sequence(transaction, change.lsn)},'
            f'"schema":{quoted(change.table.schema)},"table":{quoted(change.table.name)},'
            f'"txId":{"null" if transaction is None else transaction.transaction_id},'
            f'"lsn":{change.lsn},"xmin":null}}'
        )

    def _id(self, transaction: Transaction) -> str:
        return f"{transaction.transaction_id}:{transaction.commit_lsn}"

    def _message(self, event: MessageEvent) -> ChangeRecord:
        message, transaction = event.message, event.transaction
        number = "null" if transaction is None else transaction.transaction_id
        content = b64encode(message.content).decode()
        value = (
            f'{{"op":"m","ts_ms":{event.time_us // 1000},"source":{self._head}'
            f'{times_json(event.time_us)},"snapshot":"false","db":{self._database},'
            f'"sequence":{_sequence(transaction, message.lsn)},"schema":"","table":"",'
            f'"txId":{number},"lsn":{message.lsn},"xmin":null}},'
            f'"message":{{"prefix":{quoted(message.prefix)},"content":"{content}"}}}}'
        )
        return ChangeRecord(
            f"{self._prefix}.message", compact_json({"prefix": message.prefix}), value
        )


def _sequence(transaction: Transaction | None, lsn: int) -> str:
    """Where the transaction before ended, and the position of the change: JSON in a JSON string."""
    before = "null" if transaction is None else f'\\"{transaction.before_lsn}\\"'
    return f'"[{before},\\"{lsn}\\"]"'
