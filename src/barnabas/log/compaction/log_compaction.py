"""Compaction of an open log: whether it is due, the job, and the swap of its outputs."""

from barnabas.log.compaction.job import CompactionJob, CompactionLimits, CompactionResult
from barnabas.log.compaction.plan import Plan, must_roll, plan
from barnabas.log.compaction.producers import remembered_batches
from barnabas.log.compaction.source import Source
from barnabas.log.compaction.swap import Swap
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.roller import SegmentRoller
from barnabas.log.segment.deletion import DeleteJob
from barnabas.log.state_file import StateFile


class LogCompaction:
    """The caller runs `compact` with the job of `plan`, on any thread or in another process.

    It brings the result to `begin_swap`, calls `step` and `settle` of the swap in turn until
    `step` returns False, and ends with `end_swap`.
    """

    __slots__ = ("_log", "_producers", "_roller", "_state_file")

    def __init__(
        self,
        log: LocalLog,
        producers: ProducerState,
        roller: SegmentRoller,
        state_file: StateFile,
    ) -> None:
        self._log = log
        self._producers = producers
        self._roller = roller
        self._state_file = state_file

    def urgency(self, now_ms: int, *, upto_offset: int | None = None) -> float:
        """The share of the log that is to be compacted, OVERDUE if it must be; 0 if it is not due.

        Nothing behind `upto_offset`, the high watermark, counts.
        """
        planned = self._plan(now_ms, upto_offset)
        return 0.0 if planned is None else planned.urgency

    def roll_if_due(self, now_ms: int) -> None:
        """Finish the active segment if its records have waited for `max.compaction.lag.ms`."""
        log = self._log
        if log.is_torn or log.failure is not None:
            return  # bytes behind its end have to be cut off first
        if log.active is not None and must_roll(log.active, log.config, now_ms):
            self._roller.roll(now_ms)

    def plan(
        self,
        now_ms: int,
        *,
        upto_offset: int | None = None,
        removable_upto: int | None = None,
        limits: CompactionLimits | None = None,
    ) -> CompactionJob | None:
        """The job that compacts finished segments; None if the log is not due for it.

        No segment that reaches behind `upto_offset`, the high watermark, takes part. Tombstones and
        markers stay from `removable_upto` on.
        """
        planned = self._plan(now_ms, upto_offset)
        if planned is None:
            return None
        log, sources = self._log, planned.sources
        return CompactionJob(
            log.directory,
            sources,
            planned.dirty_offset,
            log.config,
            now_ms,
            log.compaction_progress.truncations,
            remembered_batches(self._producers.table),
            self._producers.aborted_transactions(sources[0].base_offset, sources[-1].next_offset),
            log.log_end_offset if removable_upto is None else removable_upto,
            limits or CompactionLimits(),
        )

    def _plan(self, now_ms: int, upto_offset: int | None) -> Plan | None:
        log = self._log
        # Records above may still be cut off, or belong to a transaction that may be aborted.
        ends = upto_offset, self._producers.first_unstable_offset, log.log_end_offset
        stable = min(end for end in ends if end is not None)
        with storage_errors(f"cannot read {log.directory}"):
            return plan(log.segments, log.config, log.compaction_progress, now_ms, stable)

    def begin_swap(self, job: CompactionJob, result: CompactionResult) -> Swap:
        """Begin to put a job's outputs in place. `StorageError` if the job failed."""
        log = self._log
        present = {segment.base_offset for segment in log.segments}
        if result.error is not None and present.issuperset(s.base_offset for s in job.sources):
            raise StorageError(f"cannot compact {log.directory}: {result.error}")
        return Swap(log.files, log.segments, log.compaction_progress, job, result, self._distrust)

    def _distrust(self, sources: list[Source]) -> None:
        """`log.state` must not trust what is replaced: the new segment may have the old size."""
        self._state_file.invalidate()
        self._state_file.write(replaced=[source.base_offset for source in sources])

    def end_swap(self, swap: Swap) -> DeleteJob | None:
        """The swap is over, complete or not; the job removes the files that are not needed."""
        self._state_file.invalidate()
        present = {segment.base_offset for segment in self._log.segments}
        swap.drop(self._producers.snapshots.take_out_but(present))
        return swap.end()
