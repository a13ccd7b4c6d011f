"""The producers of an open log: the table, loaded when it is first needed, and its snapshots."""

from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.offset_assignment import AppendInfo
from barnabas.log.producers.snapshot_files import SnapshotFiles
from barnabas.log.producers.table import ProducerTable
from barnabas.log.producers.transactions import end_marker
from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import ErrorCode


class ProducerState:
    """Duplicates, sequences and transactions of one partition."""

    __slots__ = ("_log", "loaded", "snapshots")

    def __init__(self, log: LocalLog, snapshot_offsets: list[int]) -> None:
        self._log = log
        self.snapshots = SnapshotFiles(log.files.disk, log.directory, snapshot_offsets)
        self.loaded: ProducerTable | None = None
        """The table; None until it is needed."""

    @property
    def table(self) -> ProducerTable:
        """Loaded from the newest snapshot and the batches behind it. Raises `StorageError`."""
        if self.loaded is None:
            log = self._log
            with storage_errors(f"cannot read {log.directory}"):
                self.loaded = self.snapshots.load(
                    log.segments, log.opened_ms, log.committed_offset, log.config.max_producers
                )
        return self.loaded

    def find_duplicate(self, header: BatchHeader) -> AppendInfo | None:
        """The result of the append that stored this very batch before; None if it is new."""
        if header.producer_id < 0 or header.base_sequence < 0:
            return None
        batch = (self.loaded or self.table).find_duplicate(header)
        if batch is None:
            return None
        return AppendInfo(
            batch.base_offset, batch.last_offset, batch.timestamp, self._log.log_start_offset
        )

    def sequence_error(self, header: BatchHeader) -> ErrorCode:
        """Why a batch that is not a duplicate may not be appended."""
        return (self.loaded or self.table).sequence_error(header)

    def end_transaction(
        self, buffer: memoryview, at: int, header: BatchHeader, offset: int, now_ms: int
    ) -> None:
        """A control batch of a producer was appended to the active segment."""
        log = self._log
        marker = end_marker(buffer[at : at + header.size])
        if marker is not None and log.active is not None:
            aborted = self.table.end(header, marker, offset, now_ms, log.committed_offset)
            if aborted is not None:
                log.active.aborted.add(aborted)

    def ongoing_transaction(
        self, producer_id: int, producer_epoch: int | None = None
    ) -> int | None:
        """The first offset of a producer's ongoing transaction; None if there is none.

        With `producer_epoch`, only a transaction of that epoch counts.
        """
        return self.table.ongoing_transaction(producer_id, producer_epoch)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that is ongoing, or whose marker is not committed."""
        log = self._log
        table = self.loaded
        if table is None:
            try:
                table = self.table
            except StorageError:
                return log.log_start_offset  # nothing is known to be stable
        if not table.transactions:
            return None
        offset = table.transactions.first_unstable_offset(log.committed_offset)
        return None if offset is None else max(offset, log.log_start_offset)

    @property
    def has_aborted_transactions(self) -> bool:
        return any(segment.aborted for segment in self._log.segments)

    def aborted_transactions(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [offset, end_offset), by their markers.

        Some of those returned may have no records there.
        """
        with storage_errors(f"cannot read {self._log.directory}"):
            return self._log.segments.aborted_transactions(offset, end_offset)

    def expire(self, now_ms: int) -> None:
        """Forget producers that were idle for `producer_id_expiration_ms`."""
        if self.loaded is not None:
            self.loaded.expire(now_ms, self._log.config.producer_id_expiration_ms)

    def unload(self) -> None:
        """The log was cut: load the table again when it is needed.

        Producers that the replay finds then count as active at the last append, not at the
        opening: a truncation does not know the time.
        """
        if self.loaded is not None:
            self._log.opened_ms = max(self._log.opened_ms, self.loaded.last_append_ms)
        self.loaded = None

    def clear(self) -> None:
        """The log is empty."""
        self.loaded = ProducerTable(self._log.config.max_producers)
