"""One partition as one share group reads it: who holds which records, and what became of them.

    available --acquire--> acquired --accept---> acknowledged
        ^                      |-----reject, gap--> archived
        '--release, timeout----'   (archived after `delivery_count_limit` deliveries)

The leader of the partition keeps this. What has to outlive it is stored by the share coordinator:

    write = partition.next_write()         # everything that changed since the last one
    ...                                    # store it
    tokens = partition.written()           # or not_written(): answer these requests

One write is under way at a time, and what changes meanwhile goes into the next one: many
acknowledgements cost one write. An acknowledged record stays with its member, *pending*, until the
write is stored; then it has its outcome, or, if the write failed, its lock is as before. Of a
request either all acknowledgements are taken, or none. Releases by timeout hold at once, stored or
not: only a delivery count depends on it.

Acquiring is not stored. A new leader loads the stored state, and everything else from the start
offset on is available: no record is lost, and none that was stored as done comes again.

The log has to be read to acquire: offsets that it lacks are archived, as are control records and
those of aborted transactions, which the caller points out.

Left out: dead letters.
"""

from collections.abc import Iterable, Sequence

from barnabas.share.acknowledgement import Acknowledgement, Refusal
from barnabas.share.acquisition import AcquiredRange, Acquisition, LogBatch
from barnabas.share.in_flight_batch import InFlightBatch
from barnabas.share.in_flight_summary import InFlightSummary, summarize
from barnabas.share.in_flight_window import InFlightWindow
from barnabas.share.record_state import OUTCOMES, AcknowledgeType, RecordState
from barnabas.share.share_limits import ShareLimits
from barnabas.share.state_write import StateBatch, StateWrite
from barnabas.wire.errors import ErrorCode

NO_DEADLINE_MS = 2**63 - 1


class SharePartition:
    __slots__ = (
        "_ended",
        "_ending_count",
        "_tokens",
        "_unwritten",
        "_window",
        "_write",
        "next_deadline_ms",
    )

    def __init__(
        self, start_offset: int, batches: Sequence[StateBatch] = (), *, is_stored: bool = True
    ) -> None:
        """From the stored state. `is_stored` is False for a start offset that is not stored yet."""
        self._window = InFlightWindow(start_offset)
        self._unwritten: list[StateBatch] | None = None if is_stored else []
        """Changes that are not stored; None if there are none at all."""
        self._ended: list[tuple[int, int]] = []
        self._tokens: list[object] = []
        self._write: StateWrite | None = None
        self._ending_count = 0
        """Pending records with a final outcome."""
        self.next_deadline_ms = NO_DEADLINE_MS
        """When to call `tick` at the latest; there may be nothing to do then."""
        self._load(batches)

    def _load(self, batches: Sequence[StateBatch]) -> None:
        window = self._window
        for batch in batches:
            if batch.last < window.next_offset:
                continue
            if batch.first > window.next_offset:  # acquired there, and nothing stored
                window.append(
                    InFlightBatch(window.next_offset, batch.first - 1, RecordState.AVAILABLE)
                )
            window.append(
                InFlightBatch(window.next_offset, batch.last, batch.state, batch.delivery_count)
            )
        window.merge([(window.start_offset, window.next_offset)])
        window.advance()

    # -- positions ---------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        """Everything before it is done with."""
        return self._window.start_offset

    @property
    def next_offset(self) -> int:
        """Nothing from here on was ever acquired."""
        return self._window.next_offset

    @property
    def open_count(self) -> int:
        """Records that were acquired and are not done with."""
        return self._window.open_count

    def summary(self) -> InFlightSummary:
        return summarize(self._window.batches)

    def next_fetch_offset(self, limits: ShareLimits) -> int | None:
        """Where to read to acquire records; None if nothing can be acquired now."""
        available = self._window.first_available()
        if available is not None:
            return available.first
        if self._window.open_count >= limits.max_record_locks:
            return None
        return self._window.next_offset

    def fetch_end(self, offset: int) -> int | None:
        """Where the records end that can be acquired from `offset` on; None if new ones can be."""
        window = self._window
        if offset >= window.next_offset:
            return None
        for batch in window.batches[window.index_of(offset) :]:
            if not batch.is_available:
                return batch.first
        return None

    # -- acquiring ---------------------------------------------------------------------------------

    def acquire(
        self,
        member_id: str,
        fetch_offset: int,
        fetched: Iterable[LogBatch],
        limits: ShareLimits,
        *,
        max_records: int,
        batch_size: int,
        is_record_limit: bool,
        now_ms: int,
    ) -> list[AcquiredRange]:
        """Lock records that were read from `fetch_offset` on, in the order of the log.

        About `max_records`, in whole batches of the log, or with `is_record_limit` no more than
        that. A batch that was delivered too often comes in parts, and alone.
        """
        attempt = Acquisition(
            self._window,
            member_id,
            limits,
            max_records,
            batch_size,
            is_record_limit=is_record_limit,
            lock_deadline_ms=now_ms + limits.record_lock_duration_ms,
        )
        offset = max(fetch_offset, self._window.start_offset)
        for batch in fetched:
            if attempt.is_over:
                break
            if batch.last < offset:
                continue
            if batch.first > offset:
                attempt.archive(offset, batch.first - 1)
                offset = batch.first
            attempt.take(offset, batch.last, is_deliverable=batch.is_deliverable)
            offset = batch.last + 1
        acquired = attempt.finish()
        if acquired:
            self.next_deadline_ms = min(self.next_deadline_ms, attempt.lock_deadline_ms)
        return acquired

    # -- acknowledging -----------------------------------------------------------------------------

    def acknowledge(
        self,
        member_id: str,
        acknowledgements: Sequence[Acknowledgement],
        limits: ShareLimits,
        token: object,
        *,
        now_ms: int,
        log_end_offset: int,
    ) -> Refusal | bool:
        """True: the token is answered with the next write; False: there is nothing to store.

        The acknowledgements have been checked (`acknowledgement`).
        """
        for each in acknowledgements:
            refusal = self._check(member_id, each, limits, log_end_offset)
            if refusal is not None:
                return refusal
        waits = False
        for each in acknowledgements:
            if each.last < self._window.start_offset:
                continue
            for first, last, kind in each.parts():
                if kind is AcknowledgeType.RENEW:
                    self._renew(first, last, now_ms + limits.record_lock_duration_ms)
                else:
                    waits = self._end(first, last, OUTCOMES[kind], limits) or waits
        if waits:
            self._tokens.append(token)
        return waits

    def _check(
        self, member_id: str, each: Acknowledgement, limits: ShareLimits, log_end_offset: int
    ) -> Refusal | None:
        window = self._window
        if each.last < window.start_offset:
            return None  # done with, or deleted from the log
        if each.last >= window.next_offset:
            # The member may have acquired it in an earlier leader epoch, which is not stored: its
            # lock is gone, like one that has timed out. Offsets beyond the log were never acquired.
            is_forged = each.last >= log_end_offset
            return Refusal(
                ErrorCode.INVALID_REQUEST if is_forged else ErrorCode.INVALID_RECORD_STATE,
                f"offset {each.last} is not acquired; the last one is {window.next_offset - 1}",
            )
        if not limits.renew_enabled and AcknowledgeType.RENEW in each.types:
            return Refusal(
                ErrorCode.INVALID_REQUEST, "share.renew.acknowledge.enable is false for this group"
            )
        for batch in window.overlapping(each.first, each.last):
            if not batch.is_held:
                return Refusal(
                    ErrorCode.INVALID_RECORD_STATE,
                    f"offset {max(batch.first, each.first)} is not acquired",
                )
            if batch.member_id != member_id:
                return Refusal(
                    ErrorCode.INVALID_RECORD_STATE,
                    f"offset {max(batch.first, each.first)} is acquired by another member",
                )
        return None

    def _renew(self, first: int, last: int, deadline_ms: int) -> None:
        for batch in self._window.cut(first, last):
            batch.lock_deadline_ms = deadline_ms

    def _end(self, first: int, last: int, outcome: RecordState, limits: ShareLimits) -> bool:
        ended = self._window.cut(first, last)
        for batch in ended:
            batch.outcome = self._outcome(batch, outcome, limits)
            if batch.outcome.is_terminal:
                self._ending_count += len(batch)
            self._note(batch, batch.outcome)
        if ended:
            _extend(self._ended, ended[0].first, ended[-1].last)
        return bool(ended)

    def _outcome(
        self, batch: InFlightBatch, outcome: RecordState, limits: ShareLimits
    ) -> RecordState:
        if outcome is RecordState.AVAILABLE and batch.delivery_count >= limits.delivery_count_limit:
            return RecordState.ARCHIVED
        return outcome

    def _note(self, batch: InFlightBatch, state: RecordState) -> None:
        """Remember to store a change."""
        if self._unwritten is None:
            self._unwritten = []
        changes = self._unwritten
        noted = StateBatch(batch.first, batch.last, state, batch.delivery_count)
        if changes:
            before = changes[-1]
            if before.last + 1 == noted.first and before[2:] == noted[2:]:
                changes[-1] = StateBatch(before.first, noted.last, state, batch.delivery_count)
                return
        changes.append(noted)

    # -- releasing ---------------------------------------------------------------------------------

    def release_member(self, member_id: str, limits: ShareLimits) -> bool:
        """The member is gone: what it holds is available to others. True if that is anything."""
        return self._release(
            [
                batch
                for batch in self._window.batches
                if batch.is_held and batch.member_id == member_id
            ],
            limits,
        )

    def tick(self, limits: ShareLimits, now_ms: int) -> bool:
        """Release records whose locks have timed out. True if there were any."""
        held = [batch for batch in self._window.batches if batch.is_held]
        expired = [batch for batch in held if batch.lock_deadline_ms <= now_ms]
        self.next_deadline_ms = min(
            (batch.lock_deadline_ms for batch in held if batch.lock_deadline_ms > now_ms),
            default=NO_DEADLINE_MS,
        )
        return self._release(expired, limits)

    def _release(self, batches: list[InFlightBatch], limits: ShareLimits) -> bool:
        for batch in batches:
            state = self._outcome(batch, RecordState.AVAILABLE, limits)
            self._note(batch, state)
            self._window.free(batch, state)
        self._window.merge([(batch.first, batch.last) for batch in batches])
        self._window.advance()
        return bool(batches)

    def log_start_moved(self, log_start_offset: int) -> bool:
        """The log begins here now: records before it are gone. True if that changes anything."""
        window = self._window
        if log_start_offset <= window.start_offset:
            return False
        for batch in window.overlapping(window.start_offset, log_start_offset - 1):
            if batch.outcome is not None and batch.outcome.is_terminal:
                self._ending_count -= min(batch.last, log_start_offset - 1) - batch.first + 1
        window.advance_to(log_start_offset)
        return True

    # -- storing -----------------------------------------------------------------------------------

    @property
    def has_changes(self) -> bool:
        return self._unwritten is not None

    @property
    def is_busy(self) -> bool:
        """Whether anything is not stored yet."""
        return self._unwritten is not None or self._write is not None

    def next_write(self) -> StateWrite | None:
        """All changes that are not stored; None if there are none, or a write is under way."""
        if self._unwritten is None or self._write is not None:
            return None
        start_offset = self._start_after()
        done_count = (
            self._window.next_offset - start_offset - (self._window.open_count - self._ending_count)
        )
        self._write = StateWrite(
            start_offset,
            [batch for batch in self._unwritten if batch.last >= start_offset],
            done_count,
            self._ended,
            self._tokens,
        )
        self._unwritten, self._ended, self._tokens = None, [], []
        return self._write

    def _start_after(self) -> int:
        """The start offset once everything pending has its outcome."""
        start_offset = self._window.start_offset
        for batch in self._window.batches:
            if not (batch.state if batch.outcome is None else batch.outcome).is_terminal:
                break
            start_offset = batch.last + 1
        return start_offset

    def written(self) -> list[object]:
        """The write is stored. Returns the requests to answer."""
        return self._finish(is_stored=True)

    def not_written(self) -> list[object]:
        """The write failed, or its outcome is unknown. Returns the requests to answer."""
        return self._finish(is_stored=False)

    def _finish(self, *, is_stored: bool) -> list[object]:
        write, self._write = self._write, None
        assert write is not None
        window = self._window
        for first, last in write.ended:
            for batch in window.cut(first, last):
                outcome = batch.outcome
                if outcome is None:
                    continue  # it left the window, and is another one
                if outcome.is_terminal:
                    self._ending_count -= len(batch)
                if is_stored:
                    window.free(batch, outcome)
                else:
                    batch.outcome = None
                    self.next_deadline_ms = min(self.next_deadline_ms, batch.lock_deadline_ms)
        window.merge(write.ended)
        window.advance()
        return write.tokens

    def pending_tokens(self) -> list[object]:
        """Requests that wait for a write; they get an error when this partition ends."""
        tokens = [*(self._write.tokens if self._write else ()), *self._tokens]
        self._tokens = []
        return tokens


def _extend(ranges: list[tuple[int, int]], first: int, last: int) -> None:
    if ranges and ranges[-1][1] + 1 == first:
        ranges[-1] = (ranges[-1][0], last)
    else:
        ranges.append((first, last))
