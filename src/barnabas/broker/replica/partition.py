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
from contextlib import suppress

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.commit_waits import CommitWaits, Done
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.watchers import ReplicaWatcher, Watcher
from barnabas.log import AppendInfo, DeleteJob, Log, LogConfig, StorageError
from barnabas.metadata.partition_image import RECOVERING, PartitionImage
from barnabas.records.batch import (
    HEADER_SIZE,
    TRANSACTIONAL,
    BatchHeader,
    parse_header,
    patch_max_timestamp,
)
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.errors import InvalidBatch
from barnabas.records.validate import validate_batch
from barnabas.replication import IsrChange, LeaderState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.primitives import Buffer

logger = logging.getLogger(__name__)

_REFUSALS_LOGGED_EVERY_MS = 60_000
_REJECTED = 3
"""How often a follower may be sent the same records, connections being what they are."""
_EPOCH_GROWS = 2
"""The transaction version from which on a producer's epoch grows with each transaction."""


_SEQUENCE_ERRORS = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
    }
)
"""What is wrong with a batch itself. Else it is refused since the one before it was, for now."""

LOST_CONTACT = "this node has lost contact with the controller"
"""Why a node refuses what it would else lead."""


class AppendRefused(StorageError):  # noqa: N818 - says what has happened
    """This node may not append to the partition now; the error code says why."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code


class Partition:
    """One replica, which leads the partition or follows."""

    __slots__ = (
        "_flushes",
        "_host",
        "_leads_in_doubt",
        "_refusal_logged_ms",
        "_waits",
        "deleted",
        "doubt",
        "flush_required",
        "high_watermark",
        "index",
        "is_recovering",
        "isr",
        "lacks_end",
        "leader_epoch",
        "leader_id",
        "leading",
        "limits",
        "log",
        "partition_epoch",
        "replica_watchers",
        "replicas",
        "suspect_from",
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
        self.suspect_from: int | None = None
        """A loss of power may have changed what the log has from here on. Offsets and epochs are
        not covered by a batch's checksum, so it is rather fetched again than believed."""
        self.doubt = ""
        """Why this replica may lack what it has acknowledged; empty if it can vouch for all of it.
        It must leave the in-sync set and the eligible leaders before this node counts again."""
        self.lacks_end = False
        """Whether that may be the newest records: then it does not lead, whoever else is there."""
        self._leads_in_doubt = False
        """Nobody else can: most of the log is better than none of it."""
        self._host = host
        self._waits: CommitWaits | None = None
        self._flushes: list[Future[None]] = []
        self._refusal_logged_ms: int | None = None

    # -- the role ----------------------------------------------------------------------------------

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
        may_lead = image.leader == self._host.node_id and (
            not self.doubt or self.is_leader or self._leads_in_doubt
        )
        led_anew = image.leader_epoch != self.leader_epoch or (may_lead and self.leading is None)
        self.is_recovering = image.leader_recovery_state == RECOVERING
        # First: if the disk refuses, all of this is tried again.
        if led_anew and image.leader not in (-1, self._host.node_id):
            self._cut_suspect()
        elif led_anew and may_lead and self.is_recovering and len(image.replicas) > 1:
            self._cut_damaged()
        self.partition_epoch = image.partition_epoch
        self.replicas, self.isr = image.replicas, image.isr
        if led_anew:
            self.leader_epoch, self.leader_id = image.leader_epoch, image.leader
            if may_lead:
                self._lead()
            else:
                self._follow()
        leading = self.leading
        if leading is not None:
            now_ms = self._host.clock.steady_ms()
            leading.assigned(
                image.replicas,
                image.isr,
                image.partition_epoch,
                now_ms,
                is_recovering=self.is_recovering,
                has_eligible=bool(image.elr),
            )
            self.look()
            if leading.is_change_due(self.high_watermark, self.log.log_end_offset, now_ms):
                self._host.on_follower_ready(self)
        if led_anew:
            self.notify()
        return led_anew

    def lost(self, doubt: str) -> None:
        """This replica lacks, or may lack, something that it has acknowledged."""
        self.doubt = self.doubt or doubt
        self.log.is_in_doubt = True
        self._host.on_doubt(self)

    def must_lead_in_doubt(self) -> bool:
        """Nobody can stand in for this replica. Whether it has to begin to lead for that."""
        self._leads_in_doubt = True
        if self.leader_id != self._host.node_id or self.is_leader:
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
            and self.suspect_from is not None
            and self.leader_id not in (-1, self._host.node_id)
        )
        if is_cut:
            self._cut_suspect()
        self.doubt = ""
        self.lacks_end = self._leads_in_doubt = self.log.is_in_doubt = False
        return is_cut

    def sent(self, node_id: int, offset: int) -> None:
        """A follower is sent records. If it gets the same ones time and again, something is wrong
        with them."""
        if self.leading is not None and self.leading.sends(node_id, offset) >= _REJECTED:
            self._host.on_rejected(self, offset)

    def offline(self) -> None:
        """The disk refuses; another replica had better lead."""
        self._host.on_offline(self.topic, self.topic_id, self.index)

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
        host = self._host
        self.suspect_from = None
        self.log.appender.begin_epoch(self.leader_epoch)
        self.leading = LeaderState(
            host.node_id,
            self.leader_epoch,
            self.log.log_end_offset,
            host.replica_lag_time_max_ms,
            host.broker_epoch_of,
        )

    def _cut_suspect(self) -> None:
        if self.suspect_from is not None:
            is_damaged = bool(self.log.lost_ranges)
            self.truncate_to(self.suspect_from, keep=is_damaged or self.is_recovering)
            self.suspect_from = None

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
        directory = self._host.set_aside(self) if keep and offset < before else ""
        try:
            log.truncate_to(offset, set_aside=directory)
        finally:  # the disk may have failed after some of it
            self.high_watermark = min(self.high_watermark, log.log_end_offset)
            self._host.moved(self)
        if directory:
            logger.warning(
                "%s-%d ends at %d now, not at %d; what was cut off is in %s",
                self.topic,
                self.index,
                log.log_end_offset,
                before,
                directory,
            )

    def start_at(self, offset: int, *, keep: bool) -> None:
        """Give up the log and begin anew at `offset`. Raises `StorageError`."""
        has_any = self.log.size_bytes > 0
        directory = self._host.set_aside(self) if keep and has_any else ""
        self.log.truncate_fully_and_start_at(offset, set_aside=directory)
        self.high_watermark = offset
        self._host.moved(self)
        if directory:
            logger.warning(
                "%s-%d begins anew at %d; what it had is in %s",
                self.topic,
                self.index,
                offset,
                directory,
            )

    # -- appending as the leader -------------------------------------------------------------------

    def append(self, records: Buffer | None, now_ms: int, *, enlisted: bool = False) -> AppendInfo:
        """Store what a producer sent, in the producer's own buffer.

        `enlisted`: the transaction coordinator knows that the transaction, which these records
        belong to, writes here. Otherwise they have to continue one that goes on here.

        Raises `InvalidBatch`, `AppendRefused` or `StorageError`; then nothing of it is stored.
        """
        leading = self.leading
        if leading is None or (not leading.is_alone and self._host.is_cut_off()):
            raise self._not_leader()
        limits = self.limits
        view = records if isinstance(records, memoryview) else memoryview(records or b"")
        header, (earliest, latest, keyless) = validate_batch(
            view,
            max_batch_bytes=limits.max_message_bytes,
            max_decompressed_bytes=limits.max_decompressed_bytes,
        )
        stamps = self.log.config.is_log_append_time
        if (keyless and limits.needs_keys) or not (
            stamps or limits.allow(earliest, latest, now_ms)
        ):
            raise limits.refusal(header, view, now_ms, is_log_append_time=stamps)
        if latest != header.max_timestamp and not stamps:
            # Retention and searches by time go by it, and some clients get it wrong.
            header = patch_max_timestamp(view, header, latest)
        if header.producer_id >= 0:
            log = self.log
            original = log.find_duplicate(header)
            if original is not None:
                return original
            error = log.sequence_error(header)
            if error is ErrorCode.INVALID_TXN_STATE and enlisted and not leading.is_alone:
                # The one that goes on here has ended: else the coordinator would not have begun
                # this one. So another node leads, and has its marker.
                raise AppendRefused(
                    ErrorCode.NOT_LEADER_OR_FOLLOWER,
                    f"{self.topic}-{self.index} lacks the end of an earlier transaction of producer"
                    f" {header.producer_id}: another node seems to lead it",
                )
            if error is not ErrorCode.NONE:
                message = f"sequence {header.base_sequence} is not the next one"
                if error in _SEQUENCE_ERRORS:
                    raise InvalidBatch(error, message)
                raise AppendRefused(error, f"{message}, which was refused a moment ago")
            if (
                header.attributes & TRANSACTIONAL
                and not enlisted
                and log.producer_state.ongoing_transaction(
                    header.producer_id, header.producer_epoch
                )
                is None
            ):
                raise InvalidBatch(
                    ErrorCode.INVALID_TXN_STATE, "its transaction does not write to this partition"
                )
        return self._store(leading, view, [(0, header)], now_ms)

    def hold_back(self, records: Buffer | None, error: ErrorCode, now_ms: int) -> None:
        """What a producer sent was refused for now; what it sent behind must not come before."""
        if records is not None and len(records) >= HEADER_SIZE:
            header = parse_header(records)
            if header.producer_id >= 0:
                # If the disk hides the producers, whatever comes behind is refused as well.
                with suppress(StorageError):
                    producers = self.log.producer_state.table
                    # Who does not lead can't tell the first batch of a producer from a late one.
                    if self.is_leader or producers.get(header.producer_id) is not None:
                        producers.hold_back(header, error, now_ms)

    def log_refusal(self, error: Exception, now_ms: int) -> None:
        """Say that the disk refused, once in a while: producers try again many times a second."""
        logged_ms = self._refusal_logged_ms
        if logged_ms is None or not 0 <= now_ms - logged_ms < _REFUSALS_LOGGED_EVERY_MS:
            self._refusal_logged_ms = now_ms
            logger.error("%s-%d takes no records: %s", self.topic, self.index, error)

    def append_internal(self, batch: bytearray, header: BatchHeader, now_ms: int) -> AppendInfo:
        """Store a batch that the broker itself made, as a producer with acks=all would.

        It may be part of a transaction that is known to write here. Raises `InvalidBatch` if the
        producer is fenced, `AppendRefused` or another `StorageError`.
        """
        leading = self._leading_for_all()
        if header.producer_id >= 0:
            error = self.log.sequence_error(header)
            if error is not ErrorCode.NONE:
                raise InvalidBatch(error, f"producer {header.producer_id} may not append this")
        return self._store(leading, memoryview(batch), [(0, header)], now_ms)

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        type_: ControlType,
        transaction_version: int,
        now_ms: int,
    ) -> AppendInfo | None:
        """End the transaction of a producer in this partition, with acks=all.

        None: it has ended already, by a marker that is committed once all that is in the log now
        is. Raises `AppendRefused` or another `StorageError`.
        """
        leading = self._leading_for_all()
        producers = self.log.producer_state.table
        epoch_grows = transaction_version >= _EPOCH_GROWS
        if producers.has_ended(
            producer_id, producer_epoch, coordinator_epoch, epoch_grows=epoch_grows
        ):
            return None
        error = producers.marker_error(
            producer_id, producer_epoch, coordinator_epoch, epoch_grows=epoch_grows
        )
        if error is not ErrorCode.NONE:
            raise AppendRefused(error, f"{self.topic}-{self.index} has ended that transaction")
        batch = encode_end_marker(
            type_,
            timestamp_ms=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
        )
        return self._store(leading, memoryview(batch), [(0, parse_header(batch))], now_ms)

    def _leading_for_all(self) -> LeaderState:
        """What leads this partition, if enough replicas are in sync for acks=all."""
        leading = self.leading
        if leading is None or (not leading.is_alone and self._host.is_cut_off()):
            raise self._not_leader()
        if self.lacks_replicas:
            raise AppendRefused(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"{self.topic}-{self.index} has too few replicas"
            )
        return leading

    def _not_leader(self) -> AppendRefused:
        why = LOST_CONTACT if self.is_leader else f"{self.topic}-{self.index} is not led here"
        return AppendRefused(ErrorCode.NOT_LEADER_OR_FOLLOWER, why)

    @property
    def lacks_replicas(self) -> bool:
        """Whether too few replicas are in sync for acks=all."""
        return len(self.isr) < self.limits.min_insync_replicas

    def _store(
        self,
        leading: LeaderState,
        view: memoryview,
        batches: list[tuple[int, BatchHeader]],
        now_ms: int,
    ) -> AppendInfo:
        log = self.log
        if self.watchers or self.replica_watchers:
            log.reader.expect_read_at_end()
        end = log.log_end_offset
        info = log.append(view, batches, self.leader_epoch, now_ms)
        if leading.any_at_end:
            leading.end_moves(end, self._host.clock.steady_ms())
        if self.replica_watchers:
            for watcher in tuple(self.replica_watchers):
                watcher.partition_moved(self)
        if self.flush_required:
            self._host.on_append(self)
        elif leading.is_alone:
            self.advance(log.log_end_offset)
        elif not leading.waits_for_followers:
            self.look()
        return info

    # -- the leader and its followers --------------------------------------------------------------

    def follower_fetched(
        self, node_id: int, broker_epoch: int, offset: int, log_start_offset: int
    ) -> bool:
        """A follower has all below `offset`. False if it is not one of this leader's."""
        leading = self.leading
        if leading is None:
            return False
        log_end = self.log.log_end_offset
        now_ms = self._host.clock.steady_ms()
        if not leading.fetched(node_id, broker_epoch, offset, log_start_offset, log_end, now_ms):
            return False
        if offset > self.high_watermark:
            self.advance(leading.committed_offset(self._own_end_offset, log_end, now_ms))
        if leading.can_join(node_id, self.high_watermark, log_end, now_ms):
            self._host.on_follower_ready(self)
        return True

    @property
    def _own_end_offset(self) -> int:
        return self.log.flushed_offset if self.flush_required else self.log.log_end_offset

    def look(self) -> None:
        """See whether more is committed than was: the set has changed, or time has passed."""
        if self.leading is not None:
            now_ms = self._host.clock.steady_ms()
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
        """A new leader does once all that was there before it is committed."""
        leading = self.leading
        return leading is not None and self.high_watermark >= leading.epoch_start_offset

    @property
    def is_isr_change_due(self) -> bool:
        leading = self.leading
        return leading is not None and leading.is_change_due(
            self.high_watermark, self.log.log_end_offset, self._host.clock.steady_ms()
        )

    def propose_isr(self) -> IsrChange | None:
        """What to ask the controller for; it is pending until it comes back or is refused."""
        leading = self.leading
        if leading is None or self.deleted:
            return None
        return leading.propose(
            self.high_watermark, self.log.log_end_offset, self._host.clock.steady_ms()
        )

    def next_flush(self) -> "Future[None]":
        """Done with the next flush that succeeds; cancelled if one fails or none comes."""
        future: Future[None] = self._host.loop.create_future()
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
            logger.error("%s-%d: %s", self.topic, self.index, error)
        self.limits = limits
        self.flush_required = self.log.flusher.is_required
        self.look()
        if self.flush_required:
            self._host.on_append(self)  # a flush may be due earlier now

    def flushed(self) -> None:
        """The log has reached the disk a little further."""
        self.look()
        flushes, self._flushes = self._flushes, []
        for future in flushes:
            if not future.done():
                future.set_result(None)

    def advance(self, offset: int) -> None:
        """Everything below `offset` is committed."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = self.log.committed_offset = offset
        self._host.moved(self)
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
            self._waits = CommitWaits(self._host.loop)
        self._waits.add(next_offset, timeout_ms, done)

    def committed(self, next_offset: int) -> "Future[None] | None":
        """Something to wait for until the high watermark reaches `next_offset`; None: it has.

        It is cancelled when that will not happen, or nobody here will know.
        """
        if next_offset <= self.high_watermark:
            return None
        future: Future[None] = self._host.loop.create_future()

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
