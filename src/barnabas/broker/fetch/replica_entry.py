"""One partition of a follower's fetch.

It reads up to the end of the log. Fetching at an offset acknowledges everything below it, unless
the epoch of the follower's last record shows that its log has diverged from the leader's: then the
response says where, and nothing is acknowledged.

A replica that is not in sync gets nothing while the rate at which such replicas read is above
`leader.replication.throttled.rate`. Its session hears when that is over, as if the log had grown.
"""

from barnabas.broker.fetch.fetch_entry import NOT_TOLD, Entry, Key
from barnabas.broker.replica.partition import Partition
from barnabas.replication import EpochEnd, OutOfRange, divergence
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import EpochEndOffset, FetchPartition, PartitionData


class ReplicaEntry(Entry):
    """A partition as the replica `replica_id` reads it."""

    __slots__ = ("_diverging", "_refusal", "broker_epoch", "replica_id")

    def __init__(
        self, key: Key, found: Partition | ErrorCode, replica_id: int, broker_epoch: int
    ) -> None:
        super().__init__(key, found, leader_only=True)
        self.replica_id = replica_id
        self.broker_epoch = broker_epoch
        self._diverging: EpochEnd | None = None
        self._refusal = ErrorCode.NONE

    def update(self, asked: FetchPartition) -> None:
        super().update(asked)
        # It may have dropped an answer that was under way when it sent this, with the bounds in it.
        self.told = NOT_TOLD
        self._diverging = None
        # A follower that may not be served yet gets this error until it fetches again. Only then
        # are the two logs compared; without that its offset could seem to be out of range.
        self._refusal = self.access_error
        partition = self.partition
        if partition is None or self._refusal is not ErrorCode.NONE:
            return
        try:
            self._diverging = divergence(
                partition.log.end_offset_for_epoch,
                asked.last_fetched_epoch,
                self.offset,
                asked.log_start_offset,
            )
        except OutOfRange:
            self._refusal = ErrorCode.OFFSET_OUT_OF_RANGE
            return
        if self._diverging is not None:
            return
        if partition.must_start_over(self.replica_id, self.offset):
            # To a follower its log diverges where the leader's starts.
            start = partition.log.log_start_offset
            self._diverging = EpochEnd(asked.last_fetched_epoch, start)
            return
        self._refusal = self.error
        if self._refusal is ErrorCode.NONE and not partition.follower_fetched(
            self.replica_id, self.broker_epoch, self.offset, asked.log_start_offset
        ):
            self._refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER

    @property
    def error(self) -> ErrorCode:
        partition = self.partition
        error = self.access_error or self._refusal
        if partition is None or error is not ErrorCode.NONE:
            return error
        if not partition.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = partition.log
        ahead = self.offset > log.log_end_offset and self._diverging is None
        out_of_range = ahead or self.offset < log.log_start_offset
        return ErrorCode.OFFSET_OUT_OF_RANGE if out_of_range else ErrorCode.NONE

    @property
    def end_offset(self) -> int:
        assert self.partition is not None
        return self.partition.log.log_end_offset

    @property
    def has_records(self) -> bool:
        return super().has_records and not self._is_throttled

    @property
    def _is_throttled(self) -> bool:
        """Whether this replica, which is not in sync, has to wait until it may read on."""
        partition = self.partition
        throttle = None if partition is None else partition.leader_throttle
        if throttle is None or partition is None or self.replica_id in partition.isr:
            return False
        return throttle.holds(partition)

    @property
    def is_urgent(self) -> bool:
        return self._diverging is not None or super().is_urgent

    def _sent(self, partition: Partition, size: int) -> None:
        partition.replica_bytes_out += size

    def read(self, max_bytes: int, *, min_one: bool) -> PartitionData:
        if self._diverging is None or self.error is not ErrorCode.NONE:
            if self._is_throttled:
                return super().read(0, min_one=False)
            data = super().read(max_bytes, min_one=min_one)
            if data.records and self.partition is not None:
                self.partition.sent(self.replica_id, self.offset)
                if self.partition.leader_throttle is not None:
                    self.partition.leader_throttle.record(len(data.records))
            return data
        data = super().read(0, min_one=False)
        data.diverging_epoch = EpochEndOffset(*self._diverging)
        return data
