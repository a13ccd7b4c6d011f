"""Reads stored segments, throttled, to find records that have rotted since they were written.

A segment is read when it has not been written to for a while, and again after an interval; the
times of these reads are kept in memory only. A replica with rot is in doubt: it leaves the in-sync
set, and refetches the records from another replica. If no other replica is in sync, it continues,
and consumers get an error for the lost records.
"""

import logging
from asyncio import AbstractEventLoop, sleep
from concurrent.futures import Executor

from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.replica.replica_doubt import doubt_replica
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import Rot, ScrubJob, StorageError

logger = logging.getLogger(__name__)

_STEP_BYTES = 64 * 1024
_REST_S = 60.0
_REJECTED_REST_S = 5.0
"""A follower may refetch for another reason; this pause limits how much that makes the node
read."""
_COLD_MS = 3_600_000
"""Recent writes are read from the page cache, which proves nothing about the disk."""


class Scrubber:
    def __init__(
        self,
        loop: AbstractEventLoop,
        executor: Executor,
        clock: Clock,
        config: BrokerConfig,
        partitions: Partitions,
    ) -> None:
        self._loop = loop
        self._executor = executor
        self._clock = clock
        self._config = config
        self._partitions = partitions
        self._read_ms: dict[Partition, dict[int, int]] = {}
        """When each segment was last read, by its base offset."""

    async def run(self) -> None:
        """Run until cancelled."""
        config = self._config
        while True:
            interval_ms = config.scrubber.interval_ms
            await sleep(min(_REST_S, interval_ms / 1000))
            if config.scrubber.bytes_per_second == 0:
                continue
            for partition in self._partitions:
                await self._scrub(partition, interval_ms)
                await sleep(0)
            gone = [partition for partition in self._read_ms if partition.deleted]
            for partition in gone:
                del self._read_ms[partition]

    async def run_rejected(self) -> None:
        """Read a segment at once if a follower finds damage in it; run until cancelled."""
        partitions = self._partitions
        while True:
            await partitions.any_rejected.wait()
            partitions.any_rejected.clear()
            rejected = dict(partitions.rejected)
            partitions.rejected.clear()
            for partition, offset in rejected.items():
                if not partition.deleted:
                    base_offset = partition.log.scrub.segment_with(offset)
                    await self._try_read(partition, base_offset, unthrottled=True)
            await sleep(_REJECTED_REST_S)

    async def _try_read(
        self, partition: Partition, base_offset: int, *, unthrottled: bool = False
    ) -> None:
        try:
            await self._read(partition, base_offset, unthrottled=unthrottled)
        except (StorageError, OSError) as error:
            if not partition.deleted:
                logger.error("scrubbing %s-%d: %s", partition.topic, partition.index, error)

    async def _scrub(self, partition: Partition, interval_ms: int) -> None:
        now_ms = self._clock.now_ms()
        try:
            due = partition.log.scrub.last_written_ms()
        except StorageError as error:
            logger.error("%s-%d can't be scrubbed: %s", partition.topic, partition.index, error)
            return
        read_ms = self._read_ms.get(partition, {})
        cold_ms = min(interval_ms, _COLD_MS)
        for base_offset, written_ms in due:
            if now_ms - written_ms < cold_ms:
                continue
            if now_ms - read_ms.get(base_offset, -interval_ms) < interval_ms:
                continue
            await self._try_read(partition, base_offset)
            if partition.deleted:
                return
            self._read_ms.setdefault(partition, {})[base_offset] = now_ms

    async def _read(
        self, partition: Partition, base_offset: int, *, unthrottled: bool = False
    ) -> None:
        job = partition.log.scrub.job(base_offset)
        if job is None:
            return
        try:
            while await self._loop.run_in_executor(self._executor, job.step, _STEP_BYTES):
                rate = self._config.scrubber.bytes_per_second
                if unthrottled:
                    continue
                if rate == 0:
                    return
                await sleep(_STEP_BYTES / rate)
        finally:
            job.close()
        if not partition.deleted and partition.log.scrub.is_current(job.segment):
            if job.garbled:
                self._correct(partition, job)
            if job.rot is not None:
                self._found(partition, job.rot)

    def _correct(self, partition: Partition, job: ScrubJob) -> None:
        """The log knows the leader epochs of its batches: no other replica is needed."""
        corrected = partition.log.epoch_repair.correct(job.garbled)
        logger.warning(
            "%s: damaged leader epochs corrected: %d, the first at offset %d, which was %d",
            partition.name,
            corrected,
            *next(iter(job.garbled.items())),
        )

    def _found(self, partition: Partition, rot: Rot) -> None:
        log = partition.log
        is_news = log.lost_ranges.at(rot.start) is None
        log.damage.mark_lost(*rot)
        if is_news:
            logger.error(
                "%s-%d: offsets %d to %d are damaged: %s",
                partition.topic,
                partition.index,
                rot.start,
                rot.end - 1,
                rot.reason,
            )
        if len(partition.replicas) > 1 and not partition.doubt:
            for lost in log.lost_ranges:
                partition.doubt.suspect(lost.start)
            doubt_replica(partition, f"it has lost {log.lost_ranges}")
