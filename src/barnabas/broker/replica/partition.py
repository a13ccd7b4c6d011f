"""A partition on this node: its log, its role, its high watermark, and who waits for that to move.

The high watermark is the offset up to which consumers may read. A leader moves it when everybody in
the in-sync set has a record; a follower learns it from the leader. What a replica of a topic that
sets `flush.*` has not flushed, it does not count as had.

Readers of committed records stop at the last stable offset: the high watermark, or where the oldest
transaction begins whose marker is not below it. So it only moves when the high watermark does.

Who leads, and who is in sync, is what the metadata image says (`apply`), and nothing else is. In
one epoch a partition leads or follows; all that waits for a commit ends with its leadership.
"""

import logging
from asyncio import Future

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.commit_waits import CommitWaits, Done
from barnabas.broker.replica.leader_appender import LeaderAppender
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.broker.replica.watchers import ReplicaWatcher, Watcher
from barnabas.log import DeleteJob, Log, LogConfig, StorageError
from barnabas.metadata.partition_image import RECOVERING, PartitionImage
from barnabas.replication import IsrChange, LeaderState
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_REFUSALS_LOGGED_EVERY_MS = 60_000
_REJECTED = 3
"""How often a follower may be sent the same records, connections being what they are."""


class Partition:
    """One replica, which leads the partition or follows."""

    __slots__ = (
        "_flushes",
        "_refusal_logged_ms",
        "_waits",
        "appender",
        "deleted",
        "doubt",
        "flush_required",
        "high_watermark",
        "host",
        "index",
        "is_recovering",
        "isr",
        "leader_epoch",
        "leader_id",
        "leading",
        "limits",
        "log",
        "partition_epoch",
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
        """In the order in which they came, so that a simulation goes the same way each time."""
        self.deleted = False
        self.high_watermark = log.committed_offset
        self.leader_id = self.leader_epoch = self.partition_epoch = -1
        self.replicas: list[int] = []
        self.isr: list[int] = []
        self.leading: LeaderState | None = None
        """Set while this node leads."""
        self.is_recovering = False
        """The leader was elected although others may have had more, and not all have followed."""
        self.doubt = ReplicaDoubt()
        self.appender = LeaderAppender(self)
        self.host = host
        self._waits: CommitWaits | None = None
        self._flushes: list[Future[None]] = []
        self._refusal_logged_ms: int | None = None

    # -- the role ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def is_leader(self) -> bool:
        return self.leading is not None

    def apply(self, image: PartitionImage) -> bool:
        """Take over what is agreed. True if another epoch has begun.

        Raises `StorageError` if it is to follow and the disk does not let it; nothing has changed
        then.
        """
        if image.partition_epoch <= self.partition_epoch:
            return False
        # Who can't vouch for its log does not begin to lead: followers would do the same to theirs.
        may_lead = image.leader == self.host.node_id and (
            not self.doubt or self.is_leader or self.doubt.must_lead
        )
        leadership_changed = image.leader_epoch != self.leader_epoch or (
            may_lead and self.leading is None
        )
        self.is_recovering = image.leader_recovery_state == RECOVERING
        # First: if the disk refuses, all of this is tried again.
        if leadership_changed and image.leader not in (-1, self.host.node_id):
            if not self.doubt.is_only_hole:
                self._cut_suspect()
        elif leadership_changed and may_lead and self.is_recovering and len(image.replicas) > 1:
            self._cut_damaged()
        self.partition_epoch = image.partition_epoch
        self.replicas, self.isr = image.replicas, image.isr
        if leadership_changed:
            self.leader_epoch, self.leader_id = image.leader_epoch, image.leader
            if may_lead:
                self._lead()
            else:
                self._follow()
        leading = self.leading
        if leading is not None:
            now_ms = self.host.clock.steady_ms()
            leading.assigned(
                image.replicas,
                image.isr,
                image.partition_epoch,
                now_ms,
                is_recovering=self.is_recovering,
                has_eligible=bool(image.elr),
            )
            self.maybe_advance_high_watermark()
            if leading.is_change_due(self.high_watermark, self.log.log_end_offset, now_ms):
                self.host.on_follower_ready(self)
        if leadership_changed:
            self.notify()
        return leadership_changed

    def lost(self, reason: str) -> None:
        """This replica lacks, or may lack, something that it has acknowledged."""
        self.doubt.reason = self.doubt.reason or reason
        self.log.is_in_doubt = True
        self.host.on_doubt(self)

    def must_lead_in_doubt(self) -> bool:
        """Nobody can stand in for this replica. Whether it has to begin to lead for that."""
        self.doubt.must_lead = True
        if self.leader_id != self.host.node_id or self.is_leader:
            return False
        self.partition_epoch = -1  # so that what is agreed is looked at once more
        return True

    def doubt_settled(self) -> bool:
        """Nobody counts on this replica any more. Whether it has to fetch anew from its leader.

        Raises `StorageError`.
        """
        # Where nobody leads, or this node is to, it is cut when another does.
        is_cut = (
            self.leading is None
            and self.doubt.suspect_from is not None
            and self.leader_id not in (-1, self.host.node_id)
        )
        if is_cut:
            self._cut_suspect()
        self.doubt.settle()
        self.log.is_in_doubt = False
        return is_cut

    def sent(self, node_id: int, offset: int) -> None:
        """A follower is sent records. If it gets the same ones time and again, something is wrong
        with them."""
        if self.leading is not None and self.leading.sends(node_id, offset) >= _REJECTED:
            self.host.on_rejected(self, offset)

    def offline(self) -> None:
        """The disk refuses; another replica had better lead."""
        self.host.on_offline(self.topic, self.topic_id, self.index)

    @property
    def log_end(self) -> tuple[int, int]:
        """The epoch of the last record, and where the log ends: what an election compares.

        What is behind a damaged place counts as little as if it was not there.
        """
        log = self.log
        first_lost = log.lost_ranges.first_offset
        if first_lost is not None:
            return log.leader_epoch_for(first_lost - 1), first_lost
        return log.last_epoch, log.log_end_offset

    def _lead(self) -> None:
        host = self.host
        self.doubt.suspect_from = None
        self.log.appender.begin_epoch(self.leader_epoch)
        self.leading = LeaderState(
            host.node_id,
            self.leader_epoch,
            self.log.log_end_offset,
            host.replica_lag_time_max_ms,
            host.broker_epoch_of,
        )

    def _cut_suspect(self) -> None:
        if self.doubt.suspect_from is not None:
            is_damaged = bool(self.log.lost_ranges)
            self.truncate_to(self.doubt.suspect_from, keep=is_damaged or self.is_recovering)
            self.doubt.suspect_from = None

    def _cut_damaged(self) -> None:
        """It is elected for what it has before the first damaged record: see `log_end`."""
        first_lost = self.log.lost_ranges.first_offset
        if first_lost is not None:
            self.truncate_to(first_lost, keep=True)

    def _follow(self) -> None:
        if self.leading is not None:
            # It may have begun an epoch in which it then appended nothing.
            self.log.truncate_to(self.log.log_end_offset)
        self.leading = None
        self._fail_waits(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def truncate_to(self, offset: int, *, keep: bool) -> None:
        """Cut the log, and the high watermark with it; perhaps keep what is cut off, for people.

        Raises `StorageError`.
        """
        log = self.log
        before = log.log_end_offset
        directory = self.host.set_aside(self) if keep and offset < before else ""
        try:
            log.truncate_to(offset, set_aside=directory)
        finally:  # the disk may have failed after some of it
            self.high_watermark = min(self.high_watermark, log.log_end_offset)
            self.host.moved(self)
        if directory:
            logger.warning(
                "%s ends at %d now, not at %d; what was cut off is in %s",
                self.name,
                log.log_end_offset,
                before,
                directory,
            )

    def start_at(self, offset: int, *, keep: bool) -> None:
        """Give up the log and begin anew at `offset`. Raises `StorageError`."""
        has_any = self.log.size_bytes > 0
        directory = self.host.set_aside(self) if keep and has_any else ""
        self.log.truncate_fully_and_start_at(offset, set_aside=directory)
        self.high_watermark = offset
        self.host.moved(self)
        if directory:
            logger.warning(
                "%s starts again at %d; its former records are in %s",
                self.name,
                offset,
                directory,
            )

    def log_refusal(self, error: Exception, now_ms: int) -> None:
        """Say that the disk refused, once in a while: producers try again many times a second."""
        logged_ms = self._refusal_logged_ms
        if logged_ms is None or not 0 <= now_ms - logged_ms < _REFUSALS_LOGGED_EVERY_MS:
            self._refusal_logged_ms = now_ms
            logger.error("%s takes no records: %s", self.name, error)

    # -- the leader and its followers --------------------------------------------------------------

    def follower_fetched(
        self, node_id: int, broker_epoch: int, offset: int, log_start_offset: int
    ) -> bool:
        """A follower has all below `offset`. False if it is not one of this leader's."""
        leading = self.leading
        if leading is None:
            return False
        log_end = self.log.log_end_offset
        now_ms = self.host.clock.steady_ms()
        if not leading.fetched(node_id, broker_epoch, offset, log_start_offset, log_end, now_ms):
            return False
        if offset > self.high_watermark:
            self.advance(leading.committed_offset(self._own_end_offset, log_end, now_ms))
        if leading.can_join(node_id, self.high_watermark, log_end, now_ms):
            self.host.on_follower_ready(self)
        return True

    @property
    def lacks_replicas(self) -> bool:
        """Whether too few replicas are in sync for acks=all."""
        return len(self.isr) < self.limits.min_insync_replicas

    @property
    def _own_end_offset(self) -> int:
        return self.log.flushed_offset if self.flush_required else self.log.log_end_offset

    def maybe_advance_high_watermark(self) -> None:
        """See whether more is committed than was: the set has changed, or time has passed."""
        if self.leading is not None:
            now_ms = self.host.clock.steady_ms()
            self.advance(
                self.leading.committed_offset(self._own_end_offset, self.log.log_end_offset, now_ms)
            )

    def delete_records_before(self, offset: int) -> DeleteJob | None:
        """Let the log start at `offset`, and the followers know. Raises `StorageError`."""
        job = self.log.retention.delete_records_before(offset)
        for follower in tuple(self.replica_watchers):
            follower.high_watermark_moved(self)
        return job

    @property
    def knows_what_is_committed(self) -> bool:
        """A new leader does once all that was there before it is committed.

        One that is cut off from the controller does not: another may have committed more by now.
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
        """What to ask the controller for; it is pending until it comes back or is refused."""
        leading = self.leading
        if leading is None or self.deleted:
            return None
        return leading.propose(
            self.high_watermark, self.log.log_end_offset, self.host.clock.steady_ms()
        )

    def next_flush(self) -> "Future[None]":
        """Done with the next flush that succeeds; cancelled if one fails or none comes."""
        future: Future[None] = self.host.loop.create_future()
        self._flushes.append(future)
        return future

    # -- the high watermark ------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Up to where every transaction has ended, for readers of committed records."""
        unstable = self.log.producer_state.first_unstable_offset
        high_watermark = self.high_watermark
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def configure(self, config: LogConfig, limits: AppendLimits) -> None:
        """Settings of the topic have changed."""
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
        """The log has reached the disk a little further."""
        self.maybe_advance_high_watermark()
        flushes, self._flushes = self._flushes, []
        for future in flushes:
            if not future.done():
                future.set_result(None)

    def advance(self, offset: int) -> None:
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
        """Tell everybody who watches; watchers come and go meanwhile."""
        for watcher in (*self.watchers, *self.replica_watchers):
            watcher.partition_moved(self)

    def when_committed(self, next_offset: int, timeout_ms: int | None, done: Done) -> None:
        """Have `done` called when the high watermark reaches `next_offset`, an end of the log.

        Or when that will not happen, or takes too long. The high watermark is not there yet.
        """
        if self._waits is None:
            self._waits = CommitWaits(self.host.loop)
        self._waits.add(next_offset, timeout_ms, done)

    def committed(self, next_offset: int) -> "Future[None] | None":
        """Something to wait for until the high watermark reaches `next_offset`; None: it has.

        It is cancelled when that will not happen, or nobody here will know.
        """
        if next_offset <= self.high_watermark:
            return None
        future: Future[None] = self.host.loop.create_future()

        def done(error: ErrorCode) -> None:
            if future.done():
                return
            if error in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND):
                future.set_result(None)
            else:
                future.cancel()

        self.when_committed(next_offset, None, done)
        return future

    def _fail_waits(self, error: ErrorCode) -> None:
        if self._waits is not None:
            self._waits.fail(error)
        flushes, self._flushes = self._flushes, []
        for future in flushes:
            future.cancel()

    def cut_off(self) -> None:
        """What waits to be committed may be so, or not: this node would not hear of it."""
        if self._waits is not None:
            self._waits.expire_all()

    def give_up(self) -> None:
        """What waits to be committed will not be: the disk has failed."""
        self._fail_waits(ErrorCode.KAFKA_STORAGE_ERROR)

    def checkpoint(self) -> None:
        """Write down what there is to know about the log. Raises `StorageError`."""
        self.log.committed_offset = self.high_watermark
        self.log.checkpoint()

    def close(self) -> None:
        """Sync the log and let go of it. Raises `StorageError`."""
        self.log.committed_offset = self.high_watermark
        self.log.close()

    def retire(self, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        """The replica is gone from this node; whoever waits is told `error`, and may look."""
        self.deleted = True
        self.leading = None
        self.notify()
        self.watchers.clear()
        self.replica_watchers.clear()
        self._fail_waits(error)
