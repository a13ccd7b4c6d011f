"""Taking something out of a log: by age and size, by request, by key, and what the leader lacks."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.log.compaction import (
    CompactionJob,
    CompactionLimits,
    CompactionResult,
    Progress,
    Source,
    Swap,
    last_of_producers,
    must_roll,
    plan,
)
from barnabas.log.errors import OffsetOutOfRange, StorageError, storage_errors
from barnabas.log.flushable_log import FlushableLog
from barnabas.log.producers.table import ProducerTable
from barnabas.log.retention import expired_segments
from barnabas.log.segment.deletion import DeleteJob
from barnabas.log.segment.set_aside import keep_part
from barnabas.log.state import LogState, write_state


class ShrinkingLog(FlushableLog):
    __slots__ = ()

    def apply_retention(self, now_ms: int, *, upto_offset: int | None = None) -> DeleteJob | None:
        """Delete the segments that `retention_ms` and `retention_bytes` no longer keep.

        None at or behind `upto_offset`, the high watermark. The active segment goes too when all
        of it is too old; then an empty one is begun before.
        """
        if "delete" not in self.config.cleanup_policy:
            return None
        if upto_offset is None:
            upto_offset = self.log_end_offset
        with storage_errors(f"can not apply retention to {self.directory}"):
            expired = expired_segments(
                self._segments, self.config, now_ms, upto_offset, self._files.disk
            )
        return self._delete_oldest(len(expired), now_ms)

    def delete_records_before(self, offset: int) -> DeleteJob | None:
        """Make `offset` the first one; segments wholly below it are deleted."""
        if not 0 <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return None
        previous, self.log_start_offset = self.log_start_offset, offset
        try:
            self.checkpoint()
        except StorageError:
            self.log_start_offset = previous
            raise
        below = sum(segment.next_offset <= offset for segment in self._segments[:-1])
        return self._delete_oldest(below, self._opened_ms)

    def _delete_oldest(self, count: int, now_ms: int) -> DeleteJob | None:
        if count == 0:
            return None
        if count == len(self._segments):
            # The new segment's name keeps the log's end while nothing else is there.
            self._roll(now_ms)
        # First the state: segments that are missing above its log start offset were not deleted.
        previous = self.log_start_offset
        self.log_start_offset = max(previous, self._segments[count].base_offset)
        try:
            self.checkpoint()
        except StorageError:
            self.log_start_offset = previous
            raise
        try:
            with storage_errors(f"can not remove segments of {self.directory}"):
                return self._segments.remove_oldest(count, self._files)
        finally:
            self.log_start_offset = max(self.log_start_offset, self._segments[0].base_offset)
            self.lost_ranges.start_at(self.log_start_offset)
            self._epochs.truncate_before(self.log_start_offset)
            self._snapshots.drop_below(self.log_start_offset)

    def expire_producers(self, now_ms: int) -> None:
        """Forget producers that were idle for `producer_id_expiration_ms`."""
        if self._producers is not None:
            self._producers.expire(now_ms, self.config.producer_id_expiration_ms)

    # Compacting

    def compaction_urgency(self, now_ms: int, *, upto_offset: int | None = None) -> float:
        """How much of the log is to be compacted, OVERDUE if it must be; 0 if it is not due.

        Nothing behind `upto_offset`, the high watermark, counts.
        """
        with storage_errors(f"can not read {self.directory}"):
            planned = plan(
                self._segments, self.config, self._compaction, now_ms, self._stable(upto_offset)
            )
        return 0.0 if planned is None else planned.urgency

    def roll_for_compaction(self, now_ms: int) -> None:
        """Finish the active segment if its records must not wait longer than they have."""
        if self._torn or self._failure is not None:
            return  # what stands behind its end is still to be cut off
        if self._active is not None and must_roll(self._active, self.config, now_ms):
            self._roll(now_ms)

    def plan_compaction(
        self,
        now_ms: int,
        *,
        upto_offset: int | None = None,
        limits: CompactionLimits | None = None,
    ) -> CompactionJob | None:
        """The job that compacts finished segments; None if the log is not due for it.

        None that reaches behind `upto_offset`, the high watermark. Run `compact` with it, where
        and as long as you like, and bring the result to `begin_swap`.
        """
        with storage_errors(f"can not read {self.directory}"):
            planned = plan(
                self._segments, self.config, self._compaction, now_ms, self._stable(upto_offset)
            )
        if planned is None:
            return None
        sources = planned.sources
        return CompactionJob(
            self.directory,
            sources,
            planned.dirty_offset,
            self.config,
            now_ms,
            self._compaction.truncations,
            last_of_producers(self.producers),
            self.aborted_transactions(sources[0].base_offset, sources[-1].next_offset),
            limits or CompactionLimits(),
        )

    def _stable(self, upto_offset: int | None) -> int:
        """What is above may go again, or belongs to a transaction that may still be aborted."""
        ends = upto_offset, self.first_unstable_offset, self.log_end_offset
        return min(end for end in ends if end is not None)

    def begin_swap(self, job: CompactionJob, result: CompactionResult) -> Swap:
        """The way in for what a job has made. StorageError if it failed; the log is as it was.

        The caller goes `step` by `step`, with a `settle` after each, and comes to `end_swap`.
        """
        present = {segment.base_offset for segment in self._segments}
        if result.error is not None and present.issuperset(s.base_offset for s in job.sources):
            raise StorageError(f"can not compact {self.directory}: {result.error}")
        return Swap(self._files, self._segments, self._compaction, job, result, self._unvouch)

    def _unvouch(self, sources: list[Source]) -> None:
        """The state must not vouch for what is replaced: the new segment may have the old size."""
        self._checkpointed = None
        self._write_state(self._synced_segments(), replaced=sources)

    def end_swap(self, swap: Swap) -> DeleteJob | None:
        """Everything is in its place, or what is not will not be: the rest is to be removed."""
        self._checkpointed = None
        swap.drop(self._snapshots.take_out_but({s.base_offset for s in self._segments}))
        return swap.end()

    # Cutting

    def truncate_to(self, offset: int, *, keep: str = "") -> None:
        """Cut the log so that it ends at `offset`, a boundary between batches, or earlier.

        A follower does that with what its new leader never had. What is cut off goes to the
        directory `keep`, if one is given.
        """
        if offset >= self.log_end_offset:
            # It may have begun an epoch in which it then appended nothing.
            self._epochs.truncate_from(self.log_end_offset)
            return
        first = self._segments[0].base_offset if self._segments else self.log_end_offset
        # To keep all of a segment, it is moved; a part of one is copied, which takes longer.
        if offset < first or (keep and offset == first):
            self.truncate_fully_and_start_at(offset, keep=keep)
            return
        self._compaction.truncated(offset)
        self._checkpointed = self._flushing = None
        kept = self._segments[self._segments.count_below(offset) - 1]
        self.flushed_offset = min(self.flushed_offset, kept.base_offset)
        self._prepared_offset = self.flushed_offset
        with storage_errors(f"can not truncate {self.directory}"):
            if keep:
                self._files.disk.make_directory(keep)
                keep_part(self._files.disk, kept, kept.locate(offset), offset, keep)
            # First the state, which then vouches for nothing that is cut: this segment may grow to
            # its old size again. If the disk is full, it refuses here, and the log is as it was.
            self._write_state(self._synced_segments(), sync=True, end_offset=offset)
            with self._cutting(offset):
                self._snapshots.drop_above(offset)
                self._segments.remove_from(offset, self._files, keep)
                if keep:
                    self._files.disk.sync_directory(keep)
                self._files.disk.sync_directory(self.directory)
                kept.truncate(kept.locate(offset))

    @contextmanager
    def _cutting(self, offset: int) -> Iterator[None]:
        """Files are cut. However far that comes, the log is what is left of them.

        If there are none left, it is empty and begins at `offset`.

        If the disk fails, what was cut may come back: then nothing is appended until the log is
        opened, and thereby looked through, again.
        """
        try:
            yield
        except (OSError, StorageError) as error:
            self._failure = f"{self.directory} could not be cut: {error}"
            raise
        finally:
            last = self._active = self._segments[-1] if self._segments else None
            if last is not None:
                self.log_end_offset = last.next_offset
                self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
                self.committed_offset = min(self.committed_offset, self.log_end_offset)
            else:
                self.log_start_offset = self.log_end_offset = self.committed_offset = offset
            self.lost_ranges.cut_at(self.log_end_offset)
            # Not earlier: without its epochs a log that still has its records passes for empty.
            self._epochs.truncate_from(self.log_end_offset if last is not None else -1)
            # Nobody says what time it is; what is replayed shall not count as heard of at opening.
            if self._producers is not None:
                self._opened_ms = max(self._opened_ms, self._producers.last_append_ms)
            self._producers = None

    def truncate_fully_and_start_at(self, offset: int, *, keep: str = "") -> None:
        """Give up everything and begin anew at `offset`: the leader has nothing that is before.

        What there was goes to the directory `keep`, if one is given.
        """
        self._checkpointed = self._flushing = None
        with storage_errors(f"can not truncate {self.directory}"):
            if keep:
                self._files.disk.make_directory(keep)
            # First the state, which then vouches for nothing: a crash leaves the old log, to be cut
            # again, or an empty one.
            state = LogState(offset, [], {}, offset, Progress())
            write_state(self._files.disk, self.directory, state, sync=True)
            self.flushed_offset = self._prepared_offset = 0
            with self._cutting(offset):
                self._snapshots.drop_above(-1)
                self._segments.remove_all(self._files, keep)
                if keep:
                    self._files.disk.sync_directory(keep)
                self._files.disk.sync_directory(self.directory)
        self.flushed_offset = self._prepared_offset = offset
        self._compaction.truncated(0)
        self._torn = False
        self._unvouched.clear()
        self.lost_ranges.cut_at(-1)
        self._producers = ProducerTable()
