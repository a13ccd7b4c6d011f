"""The state that committed records change, and its snapshots."""

from collections.abc import Callable
from dataclasses import dataclass

from barnabas.broker.quorum.checkpoint import encode_checkpoint, records_in_checkpoint
from barnabas.log import StorageError
from barnabas.metadata.records import MetadataRecord, decode_metadata_record
from barnabas.raft import Batch, Entry, Snapshot, VoterSet
from barnabas.records.decode import decode_batch
from barnabas.records.errors import RecordsError
from barnabas.wire.primitives import WireError

_SNAPSHOT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Callbacks:
    on_restore: Callable[[list[MetadataRecord], int], None]
    on_commit: Callable[[list[MetadataRecord], int], None]
    on_leadership: Callable[[int | None], None]
    on_leader_change: Callable[[], None]
    on_failure: Callable[[Exception], None]
    snapshot: Callable[[], list[MetadataRecord]]


class StateMachine:
    """Applies what is committed, and decides when the next snapshot is due.

    That is when the log since the last snapshot is long, and longer than that snapshot: so all
    snapshots together cost at most a fraction of what the records cost.
    """

    def __init__(self, callbacks: Callbacks, snapshot_records: int) -> None:
        self._callbacks = callbacks
        self._snapshot_records = snapshot_records
        self._snapshot_bytes = _SNAPSHOT_BYTES
        self._records_since = 0
        self._bytes_since = 0
        self._last_snapshot_records = 0
        self.end_offset = 0
        """The offset behind what has been applied."""

    def restore(self, snapshot: Snapshot) -> None:
        """Raises `StorageError`."""
        try:
            records = records_in_checkpoint(snapshot.content)
        except RecordsError as error:
            raise StorageError(f"a snapshot of the metadata can't be read: {error}") from error
        self.end_offset = snapshot.snapshot_id.end_offset
        self._begin_again(len(records), len(snapshot.content))
        self._callbacks.on_restore(records, self.end_offset)

    def apply(self, entries: list[Entry]) -> int | None:
        """Returns when the controller wrote the last batch; None if there is none.

        Raises `StorageError`.
        """
        records: list[MetadataRecord] = []
        stamped_ms: int | None = None
        try:
            for entry in entries:
                if isinstance(entry.body, Batch):
                    decoded = decode_batch(entry.body.payload)
                    if decoded:
                        stamped_ms = decoded[-1].timestamp
                    records += (decode_metadata_record(record.value or b"") for record in decoded)
                    self._bytes_since += len(entry.body.payload)
        except (RecordsError, WireError) as error:
            raise StorageError(f"the metadata can't be read: {error}") from error
        self.end_offset = entries[-1].end_offset
        self._records_since += len(records)
        self._callbacks.on_commit(records, self.end_offset)
        return stamped_ms

    @property
    def is_snapshot_due(self) -> bool:
        return (
            self._records_since >= max(self._snapshot_records, self._last_snapshot_records)
            or self._bytes_since >= self._snapshot_bytes
        )

    def take_snapshot(self, voters: VoterSet, now_ms: int) -> bytes:
        records = self._callbacks.snapshot()
        content = encode_checkpoint(records, voters, now_ms)
        self._begin_again(len(records), len(content))
        return content

    def _begin_again(self, snapshot_records: int, snapshot_bytes: int) -> None:
        self._records_since = self._bytes_since = 0
        self._last_snapshot_records = snapshot_records
        self._snapshot_bytes = max(_SNAPSHOT_BYTES, snapshot_bytes)
