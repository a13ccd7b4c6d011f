"""A partition on this node: its log, its role, its high watermark, and the requests waiting for it.

The high watermark is the offset up to which consumers may read. A leader advances it when all
replicas in the in-sync set have a record; a follower learns it from the leader. A replica of a
topic that sets `flush.*` counts only what it has flushed.

read_committed consumers stop at the last stable offset: the high watermark, or the first offset of
the oldest transaction whose marker is not below it. So it only moves when the high watermark does.

Only the metadata image decides which replica leads and which are in sync (`replica_role`). In one
epoch a replica either leads or follows; when its leadership ends, all waits for a commit end.
"""

import logging
from asyncio import Future

from barnabas.broker.quotas.replication_quota import ReplicationQuota
from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.commit_waits import CommitWaits, Done, commit_future
from barnabas.broker.replica.flush_waits import FlushWaits
from barnabas.broker.replica.leader_appender import LeaderAppender
from barnabas.broker.replica.limited_log import LimitedLog
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.broker.replica.replica_role import apply_image
from barnabas.broker.replica.watchers import ReplicaWatcher, Watcher
from barnabas.log import DeleteJob, Log, LogConfig, StorageError
from barnabas.metadata.partition_image import PartitionImage
from barnabas.replication import IsrChange, LeaderState
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_REJECTED = 3
"""How often a follower may be sent the same records before they are suspect: connections break
too."""


class Partition:
    """One replica, which is the partition's leader or a follower."""

    __slots__ = (
        "_append_errors",
        "_read_errors",
        "_waits",
        "appender",
        "bytes_out",
        "deleted",
        "doubt",
        "flush_required",
        "flush_waits",
        "follower_throttle",
        "high_watermark",
        "host",
        "index",
        "is_recovering",
        "isr",
        "leader_epoch",
        "leader_id",
        "leader_throttle",
        "leading",
        "limits",
        "log",
        "partition_epoch",
        "replica_bytes_out",
        "replica_watchers",
        "replicas",
        "topic",
        "topic_id",
        "watchers",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: Log,
        limits: AppendLimits,
        host: PartitionHost,
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.limits = limits
        self.flush_required = log.flusher.is_required
        self.watchers: dict[Watcher, None] = {}
        self.replica_watchers: dict[ReplicaWatcher, None] = {}
        """In order of arrival, so that simulations are deterministic."""
        self.leader_throttle: ReplicationQuota | None = None
        """Limits what replicas that are not in sync read from this one."""
        self.follower_throttle: ReplicationQuota | None = None
        """Limits what this replica copies while it is not in sync."""
        self.bytes_out = self.replica_bytes_out = 0
        """Bytes of records sent to consumers, and to followers."""
        self.deleted = False
        self.high_watermark = log.committed_offset
        self.leader_id = self.leader_epoch = self.partition_epoch = -1
        self.replicas: list[int] = []
        self.isr: list[int] = []
        self.leading: LeaderState | None = None
        """Set while this node leads."""
        self.is_recovering = False
        """Whether the leader was elected uncleanly, and not all replicas have caught up with it
        yet."""
        self.doubt = ReplicaDoubt()
        self.appender = LeaderAppender(self)
        self.host = host
        self._waits: CommitWaits | None = None
        self.flush_waits = FlushWaits(host.loop)
        self._append_errors = LimitedLog()
        self._read_errors = LimitedLog()

    # -- the role ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def is_leader(self) -> bool:
        return self.leading is not None

    def apply(self, image: PartitionImage) -> bool:
        """Apply the metadata image: see `replica_role`. True if the leader epoch has changed.

        Raises `StorageError`; then nothing has changed.
        """
        return apply_image(self, image)

    def sent(self, node_id: int, offset: int) -> None:
        """A follower is sent records. If it fetches the same ones again and again, they may be
        damaged."""
        if self.leading is not None and self.leading.sends(node_id, offset) >= _REJECTED:
            self.host.on_rejected(self, offset)

    def offline(self) -> None:
        """The disk failed; another replica should lead."""
        self.host.on_offline(self.topic, self.topic_id, self.index)

    def unwritable(self) -> None:
        """The disk is full or fails: another replica should lead, and not wait for this one."""
        self.host.on_unwritable(self.topic, self.topic_id, self.index)

    @property
    def log_end(self) -> tuple[int, int]:
        """The epoch of the last record, and the log end offset: what an election compares.

        Records behind damage do not count, and no record is of a later epoch than the leader's.
        """
        log = self.log
        first_lost = log.lost_ranges.first_offset
        if first_lost is not None:
            return self._possible_epoch(log.leader_epoch_for(first_lost - 1)), first_lost
        return self._possible_epoch(log.last_epoch), log.log_end_offset

    def _possible_epoch(self, epoch: int) -> int:
        return epoch if self.leader_epoch < 0 else min(epoch, self.leader_epoch)

    def log_refusal(self, error: Exception, now_ms: int) -> None:
        """Log that the disk failed, at a limited rate: producers retry many times a second."""
        self._append_errors.error(logger, now_ms, "%s can't be appended to: %s", self.name, error)

    def log_read_error(self, error: Exception) -> None:
        """Log that records can't be read, at a limited rate: consumers retry."""
        now_ms = self.host.clock.steady_ms()
        self._read_errors.error(logger, now_ms, "%s can't be read: %s", self.name, error)

    # -- the leader and its followers --------------------------------------------------------------

    def follower_fetched(
        self, node_id: int, broker_epoch: int, offset: int, log_start_offset: int
    ) -> bool:
        """A follower has all records below `offset`. False if it is not a follower of this
        leader."""
        leading = self.leading
        if leading is None:
            return False
        log_end = self.log.log_end_offset
        now_ms = self.host.clock.steady_ms()
        if not leading.fetched(node_id, broker_epoch, offset, log_start_offset, log_end, now_ms):
            return False
        if offset > self.high_watermark:
            self.advance_high_watermark(
                leading.high_watermark(self._own_end_offset, log_end, now_ms)
            )
        if leading.can_join(node_id, self.high_watermark, log_end, now_ms):
            self.host.on_follower_ready(self)
        return True

    def must_start_over(self, node_id: int, offset: int) -> bool:
        """Whether a follower that fetches from `offset` on has to copy the whole log again."""
        log = self.log
        return self.leading is not None and self.leading.must_start_over(
            node_id, offset, log.log_start_offset, log.compaction_progress.deletions_upto
        )

    @property
    def lacks_replicas(self) -> bool:
        """Whether too few replicas are in sync for acks=all."""
        return len(self.isr) < self.limits.min_insync_replicas

    @property
    def _own_end_offset(self) -> int:
        return self.log.flushed_offset if self.flush_required else self.log.log_end_offset

    def maybe_advance_high_watermark(self) -> None:
        """Advance the high watermark if possible: the in-sync set may have changed, or a follower
        expired."""
        if self.leading is not None:
            now_ms = self.host.clock.steady_ms()
            self.advance_high_watermark(
                self.leading.high_watermark(self._own_end_offset, self.log.log_end_offset, now_ms)
            )

    def delete_records_before(self, offset: int) -> DeleteJob | None:
        """Move the log start to `offset`, and notify the followers. Raises `StorageError`."""
        job = self.log.retention.delete_records_before(offset)
        for follower in tuple(self.replica_watchers):
            follower.high_watermark_moved(self)
        return job

    @property
    def knows_what_is_committed(self) -> bool:
        """True on a new leader once all records from before its epoch are committed.

        False on a leader that is cut off from the controller: another may have committed more by
        now.
        """
        leading = self.leading
        return (
            leading is not None
            and self.high_watermark >= leading.epoch_start_offset
            and (leading.is_alone or not self.host.is_cut_off())
        )

    @property
    def is_isr_change_due(self) -> bool:
        leading = self.leading
        return leading is not None and leading.is_change_due(
            self.high_watermark, self.log.log_end_offset, self.host.clock.steady_ms()
        )

    def propose_isr(self) -> IsrChange | None:
        """The ISR change to request; it is pending until the metadata log brings it or it is
        refused."""
        leading = self.leading
        if leading is None or self.deleted:
            return None
        return leading.propose(
            self.high_watermark, self.log.log_end_offset, self.host.clock.steady_ms()
        )

    # -- the high watermark ------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction has ended, for read_committed consumers."""
        unstable = self.log.producer_state.first_unstable_offset
        high_watermark = self.high_watermark
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def configure(self, config: LogConfig, limits: AppendLimits) -> None:
        """Apply changed settings of the topic."""
        try:
            self.log.configure(config)
        except StorageError as error:
            logger.error("%s: %s", self.name, error)
        self.limits = limits
        self.flush_required = self.log.flusher.is_required
        self.maybe_advance_high_watermark()
        if self.flush_required:
            self.host.on_append(self)  # a flush may be due earlier now

    def flushed(self) -> None:
        """More of the log has been flushed."""
        self.maybe_advance_high_watermark()
        self.flush_waits.release()

    def advance_high_watermark(self, offset: int) -> None:
        """Everything below `offset` is committed."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = self.log.committed_offset = offset
        self.host.moved(self)
        if self.watchers:
            for watcher in tuple(self.watchers):
                watcher.partition_moved(self)
        if self.replica_watchers:
            for follower in tuple(self.replica_watchers):
                follower.high_watermark_moved(self)
        if self._waits is not None:
            too_few = self.lacks_replicas
            error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if too_few else ErrorCode.NONE
            self._waits.release(offset, error)

    def notify(self) -> None:
        """Notify all watchers; these may be added and removed meanwhile."""
        for watcher in (*self.watchers, *self.replica_watchers):
            watcher.partition_moved(self)

    def resume_followers(self) -> None:
        """Followers that were throttled may read on."""
        for follower in tuple(self.replica_watchers):
            follower.partition_moved(self)

    def when_committed(self, next_offset: int, timeout_ms: int | None, done: Done) -> None:
        """Call `done` when the high watermark reaches `next_offset`, which is a log end offset.

        It is also called when that can't happen or times out. The high watermark must be below
        `next_offset`.
        """
        if self._waits is None:
            self._waits = CommitWaits(self.host.loop)
        self._waits.add(next_offset, timeout_ms, done)

    def committed(self, next_offset: int) -> "Future[None] | None":
        """A future that is done when the high watermark reaches `next_offset`; None if it has
        already.

        It is cancelled when that can't happen, or this node will not learn of it.
        """
        if next_offset <= self.high_watermark:
            return None
        future, done = commit_future(self.host.loop)
        self.when_committed(next_offset, None, done)
        return future

    def fail_waits(self, error: ErrorCode) -> None:
        """End all waits for a commit or a flush."""
        if self._waits is not None:
            self._waits.fail(error)
        self.flush_waits.cancel()

    def cut_off(self) -> None:
        """Fail waits for a commit with an unknown outcome: this node is cut off and would not learn
        of it."""
        if self._waits is not None:
            self._waits.expire_all()

    def give_up(self) -> None:
        """Fail all waits for a commit: the disk has failed."""
        self.fail_waits(ErrorCode.KAFKA_STORAGE_ERROR)

    def checkpoint(self) -> None:
        """Write the log's checkpoint files. Raises `StorageError`."""
        self.log.committed_offset = self.high_watermark
        self.log.checkpoint()

    def close(self) -> None:
        """Sync the log, but not yet its state, and close it. Raises `StorageError`."""
        self.log.committed_offset = self.high_watermark
        self.log.close(sync_state=False)

    def retire(self, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        """The replica is removed from this node; waiting requests fail with `error`."""
        self.deleted = True
        self.leading = None
        self.notify()
        self.watchers.clear()
        self.replica_watchers.clear()
        self.fail_waits(error)
