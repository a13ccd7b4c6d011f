"""Changes of a MySQL or MariaDB as records for topics."""

from collections.abc import Iterator

from barnabas.changes.envelope import ChangeEnvelope, ChangeRecord, times_json
from barnabas.changes.events import Change, Transaction
from barnabas.changes.json_values import quoted
from barnabas.changes.mysql.events import Event
from barnabas.changes.mysql.settings import MySqlSettings


class MySqlEnvelope(ChangeEnvelope):
    """Writes events as records."""

    def __init__(self, settings: MySqlSettings) -> None:
        super().__init__(
            settings.connector,
            settings.topic_prefix,
            tombstones=settings.tombstones,
            transactions=settings.transaction_metadata,
        )

    def records(self, event: Event) -> Iterator[ChangeRecord]:
        """The records of an event, in the order in which they are to be written."""
        if isinstance(event, Change):
            yield from self._change(event)
        elif self._transactions:
            yield self._boundary(event)

    def _source(self, change: Change) -> str:
        return (
            f"{self._head}{times_json(change.time_us)},"
            f'"snapshot":"{change.snapshot}",'
            f'"db":{quoted(change.table.schema)},"sequence":null,'
            f'"table":{quoted(change.table.name)},{change.place}}}'
        )

    def _id(self, transaction: Transaction) -> str:
        return transaction.gtid or str(transaction.commit_lsn)
