"""One partition of a fetch: the reader's position in it, and what the last response said.

A consumer reads committed records, from the leader or from any follower: up to the high watermark,
or up to the last stable offset together with the list of aborted transactions. A follower reads to
the end of the leader's log, and its fetches tell the leader how far it is; see `replica_entry`.
"""

from barnabas.broker.fetch.aborted_transactions import aborted_among
from barnabas.broker.replica.leadership import epoch_error
from barnabas.broker.replica.partition import Partition
from barnabas.log import BatchDamaged, OffsetOutOfRange, RecordsLost, StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, PartitionData

Key = tuple[str | bytes, int]
"""Topic name, or from version 13 on topic id, and partition index."""

NO_REPLICA = -1
NOT_TOLD = (-1, -1)


class Entry:
    """A partition as a consumer reads it."""

    __slots__ = (
        "committed_only",
        "key",
        "leader_epoch",
        "leader_only",
        "max_bytes",
        "missing",
        "offset",
        "partition",
        "preferred_read_replica",
        "told",
    )

    def __init__(self, key: Key, found: Partition | ErrorCode, *, leader_only: bool) -> None:
        self.key = key
        self.missing = ErrorCode.NONE
        """Why the partition is not here."""
        self.partition: Partition | None = None
        self.leader_only = leader_only
        self.committed_only = False
        """Whether the reader is read_committed: it wants no records of open or aborted
        transactions."""
        self.offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.preferred_read_replica = NO_REPLICA
        """The preferred read replica: nearer to the reader than this node, and in possession of the
        offset.

        It is sent once. A reader that fetches here again can't reach that replica, and is served
        here: otherwise it would be redirected endlessly, without making progress.
        """
        self.told = NOT_TOLD
        """High watermark and log start offset of the last answer."""
        self.found(found)

    def found(self, found: Partition | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            self.partition, self.missing = None, found
        else:
            self.partition, self.missing = found, ErrorCode.NONE

    def update(self, asked: FetchPartition) -> None:
        self.offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch
        self.preferred_read_replica = NO_REPLICA

    @property
    def is_lost(self) -> bool:
        """Whether the partition does not exist: not yet, or no longer."""
        return self.partition is None or self.partition.deleted

    @property
    def error(self) -> ErrorCode:
        """Why this partition can't be read at all."""
        error = self.access_error
        partition = self.partition
        if partition is None or error is not ErrorCode.NONE:
            return error
        log = partition.log
        in_range = log.log_start_offset <= self.offset <= log.log_end_offset
        if partition.is_leader:
            return ErrorCode.NONE if in_range else ErrorCode.OFFSET_OUT_OF_RANGE
        # The leader may have what a follower lacks: only the leader answers that an offset is out
        # of range.
        if self.leader_only or not in_range:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    @property
    def access_error(self) -> ErrorCode:
        """Why the partition can't be read, at any offset."""
        partition = self.partition
        if partition is None:
            return self.missing
        if partition.deleted:
            by_id = isinstance(self.key[0], bytes)
            return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return epoch_error(partition, self.leader_epoch)

    @property
    def end_offset(self) -> int:
        """The offset up to which this reader may read; the partition must exist."""
        partition = self.partition
        assert partition is not None
        return partition.last_stable_offset if self.committed_only else partition.high_watermark

    @property
    def is_urgent(self) -> bool:
        """Whether the response must be sent at once for a reason other than records, such as an
        error."""
        return self.error is not ErrorCode.NONE or self.preferred_read_replica != NO_REPLICA

    @property
    def has_records(self) -> bool:
        return self.partition is not None and self.offset < self.end_offset

    @property
    def is_told(self) -> bool:
        """Whether the reader knows the current high watermark and log start; the partition must
        exist."""
        partition = self.partition
        assert partition is not None
        return self.told == (partition.high_watermark, partition.log.log_start_offset)

    def available_bytes(self) -> int:
        """How many bytes a read would return, at least one."""
        partition = self.partition
        assert partition is not None
        try:
            available = partition.log.reader.bytes_between(self.offset, self.end_offset)
        except StorageError:
            return self.max_bytes  # the read will fail too, so that the client gets the error
        return min(available, self.max_bytes) or 1

    def read(self, max_bytes: int, *, min_one: bool) -> PartitionData:
        """The response for this partition, with at most `max_bytes` of records."""
        error = self.error
        partition = self.partition
        if partition is None or error not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            return PartitionData(self.key[1], error, -1, aborted_transactions=None, records=b"")
        preferred, self.preferred_read_replica = self.preferred_read_replica, NO_REPLICA
        data = PartitionData(
            self.key[1],
            error,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            aborted_transactions=[] if self.committed_only else None,
            preferred_read_replica=preferred,
            records=b"",
        )
        if error is ErrorCode.NONE and preferred == NO_REPLICA:
            self._read_records(data, max_bytes, min_one=min_one)
        return data

    def _sent(self, partition: Partition, size: int) -> None:
        partition.bytes_out += size

    def _read_records(self, data: PartitionData, max_bytes: int, *, min_one: bool) -> None:
        assert self.partition is not None
        log = self.partition.log
        end = self.end_offset
        if self.offset >= end or (max_bytes <= 0 and not min_one):
            return
        try:
            records = log.reader.read(
                self.offset, min(max_bytes, self.max_bytes), upto_offset=end, min_one=min_one
            )
            if self.committed_only and records:
                data.aborted_transactions = aborted_among(log, self.offset, records)
            data.records = records
            self._sent(self.partition, len(records))
        except OffsetOutOfRange:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        except RecordsLost:
            # Clients report this error to the application, unlike that of a failing disk. A
            # follower that has lost records copies them again: meanwhile the leader has them.
            leads = self.partition.is_leader
            data.error_code = (
                ErrorCode.CORRUPT_MESSAGE if leads else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        except StorageError as error:
            if isinstance(error, BatchDamaged):  # the scrubber finds out how much is damaged
                self.partition.host.on_rejected(self.partition, self.offset)
            self.partition.log_read_error(error)
            data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
