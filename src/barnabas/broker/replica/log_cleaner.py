"""Compacts partitions in the background, one at a time.

The event loop decides and swaps files; a child process reads and writes (see `child_process`).
Partitions that are overdue come first, then the one with the largest dirty part. A partition whose
compaction failed is skipped for a while.
"""

import logging
from asyncio import AbstractEventLoop, sleep
from concurrent.futures import Executor

from barnabas.broker.replica.compaction_backlog import CompactionBacklog
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import CompactionLimits, CompactionResult, Disk, StorageError, Swap, compact
from barnabas.log.segment.unreadable_batch import CURE
from barnabas.quantities import counted, human_size

logger = logging.getLogger(__name__)

_REST_MS = 60_000
_STEP_MS = 1_000


class LogCleaner:
    def __init__(
        self,
        loop: AbstractEventLoop,
        executor: Executor,
        compactor: Executor,
        disk: Disk,
        clock: Clock,
        config: BrokerConfig,
        partitions: Partitions,
        backlog: CompactionBacklog,
        label: str,
    ) -> None:
        """`label` is the suffix of this cleaner's files."""
        self._loop = loop
        self._executor = executor
        self._compactor = compactor
        self._disk = disk
        self._clock = clock
        self._config = config
        self._partitions = partitions
        self._backlog = backlog
        self._label = label
        self._resting: dict[Partition, int] = {}
        """Partitions whose compaction failed, and until when they are skipped."""
        self._told: dict[Partition, set[int]] = {}
        """Offsets of unreadable batches that have been logged."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._rest()
            while (partition := await self._dirtiest()) is not None:
                try:
                    await self._compact(partition)
                except (StorageError, OSError) as error:
                    if not partition.deleted:
                        logger.error(
                            "compaction of %s-%d: %s", partition.topic, partition.index, error
                        )
                        self._resting[partition] = self._now_ms() + _REST_MS

    async def _rest(self) -> None:
        """Sleep for `log.cleaner.backoff.ms`, which may change meanwhile."""
        rested_ms = 0
        while (left_ms := self._config.cleaner.backoff_ms - rested_ms) > 0:
            step_ms = min(left_ms, _STEP_MS)
            await sleep(step_ms / 1000)
            rested_ms += step_ms

    def _now_ms(self) -> int:
        return self._clock.now_ms()

    async def _dirtiest(self) -> Partition | None:
        """The partition that needs compaction most; None if none does."""
        most, found = 0.0, None
        due = 0
        for partition in self._partitions:
            if partition.deleted or "compact" not in partition.log.config.cleanup_policy:
                continue
            if self._resting.get(partition, 0) > self._now_ms():
                continue
            try:
                partition.log.compaction.roll_if_due(self._now_ms())
                urgency = partition.log.compaction.urgency(
                    self._now_ms(), upto_offset=partition.high_watermark
                )
            except StorageError as error:
                logger.error("%s-%d: %s", partition.topic, partition.index, error)
                self._resting[partition] = self._now_ms() + _REST_MS
                continue
            due += urgency > 0
            if urgency > most:
                most, found = urgency, partition
            await sleep(0)
        self._resting = {
            partition: until_ms
            for partition, until_ms in self._resting.items()
            if until_ms > self._now_ms() and not partition.deleted
        }
        self._backlog.looked(due, most, len(self._resting))
        return found

    async def _compact(self, partition: Partition) -> None:
        log = partition.log
        job = log.compaction.plan(
            self._now_ms(),
            upto_offset=partition.high_watermark,
            removable_upto=None if partition.leading is None else partition.leading.lowest_end,
            limits=CompactionLimits(
                self._config.cleaner.dedupe_buffer_bytes,
                self._config.cleaner.max_bytes_per_second,
                self._label,
            ),
        )
        if job is None:
            return
        result = await self._loop.run_in_executor(self._compactor, compact, job, self._disk)
        if partition.deleted:
            return
        self._tell_unreadable(partition, result)
        await self._swap_in(partition, log.compaction.begin_swap(job, result))
        self._backlog.compacted(result.freed_bytes)
        if result.freed_bytes > 0:
            logger.info(
                "%s-%d compacted up to offset %d: %s, %s of %s removed",
                partition.topic,
                partition.index,
                result.end_offset,
                counted(result.keys, "key"),
                human_size(result.freed_bytes),
                human_size(sum(source.size for source in job.sources)),
            )

    def _tell_unreadable(self, partition: Partition, result: CompactionResult) -> None:
        """Log each unreadable batch once: it stays until an operator removes it."""
        if not result.unreadable:
            self._told.pop(partition, None)
            return
        told = self._told.setdefault(partition, set())
        for offset, why in result.unreadable:
            if offset not in told:
                told.add(offset)
                logger.error(
                    "%s-%d: %s; compaction skips it; to remove it, %s",
                    partition.topic,
                    partition.index,
                    why,
                    CURE,
                )

    async def _swap_in(self, partition: Partition, swap: Swap) -> None:
        try:
            while swap.step():
                await self._loop.run_in_executor(self._executor, swap.settle)
                if partition.deleted:
                    return
        finally:
            dropped = partition.log.compaction.end_swap(swap)
            if dropped is not None:
                self._partitions.run_later(dropped)
