"""Loads the shards of a coordinator: replays their logs.

A new leader replays the whole log of a partition, and serves only once all of it is committed:
state that could still be lost is never shown. Partitions are loaded one after the other and in
slices, so that other requests are served meanwhile.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, sleep
from collections import deque
from typing import Any

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.stored_records import batch_slices
from barnabas.coordination.record_format import CorruptRecord
from barnabas.log import BatchDamaged, StorageError

logger = logging.getLogger(__name__)

_SLICE_BYTES = 1 << 16
"""A few hundred records, which take a few milliseconds to replay."""
_TRY_AGAIN_S = 5.0
_CURE = "; without another replica, restore the file from a backup"

Shard = CoordinatorShard[Any]


class ShardLoader:
    """The queue of shards to load, and the task that loads them."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._to_load: deque[Shard] = deque()
        self._task: Task[None] | None = None

    def load(self, shard: Shard) -> None:
        """Replay the log of a shard that is led here, and let the shard serve."""
        log = shard.partition.log
        if log.log_start_offset == log.log_end_offset:
            self._serve_when_committed(shard, log.log_end_offset)
            return
        self._enlist(shard)

    def _enlist(self, shard: Shard) -> None:
        self._to_load.append(shard)
        if self._task is None:
            self._task = self._loop.create_task(self._load_all())
            self._task.add_done_callback(_report)

    def close(self) -> None:
        """Stop loading."""
        if self._task is not None:
            self._task.cancel()

    async def _load_all(self) -> None:
        try:
            while self._to_load:
                shard = self._to_load.popleft()
                if shard.leads:
                    await self._load(shard)
        finally:
            self._task = None

    async def _load(self, shard: Shard) -> None:
        partition = shard.partition
        log = partition.log
        end_offset = log.log_end_offset
        segments = log.segment_infos()
        replayed = 0
        try:
            for batches in batch_slices(log, end_offset, _SLICE_BYTES):
                for header, records in batches:
                    shard.replay(header, records)
                    replayed += len(records)
                await sleep(0)
                if not shard.leads:
                    return
        except (StorageError, CorruptRecord) as error:
            shard.damaged()
            if isinstance(error.__cause__, OSError):
                # The disk did not answer, which says nothing about what is on it.
                logger.critical(
                    "%s-%d can't be read, so its coordinator does not serve; trying again in %g s:"
                    " %s",
                    partition.topic,
                    partition.index,
                    _TRY_AGAIN_S,
                    error,
                )
                self._loop.call_later(_TRY_AGAIN_S, self._try_again, shard)
                return
            logger.critical(
                "%s-%d is damaged and can't be loaded: %s%s",
                partition.topic,
                partition.index,
                error,
                _CURE if isinstance(error, BatchDamaged) else "",
            )
            return
        if log.segment_infos() != segments:
            # The log was compacted during the load. A tombstone may have been removed before it was
            # read, together with the record that it deleted, which has been read.
            shard.unload()
            self._to_load.append(shard)
            return
        if log.lost_ranges:
            logger.critical(
                "%s-%d has lost %s, and no other replica has it: what was there is forgotten. "
                "The coordinator serves the rest, which is %d records",
                partition.topic,
                partition.index,
                log.lost_ranges,
                replayed,
            )
        logger.info("%s-%d: %d records replayed", partition.topic, partition.index, replayed)
        self._serve_when_committed(shard, end_offset)

    def _try_again(self, shard: Shard) -> None:
        if shard.leads:
            self._enlist(shard)

    def _serve_when_committed(self, shard: Shard, end_offset: int) -> None:
        waiter = shard.partition.committed(end_offset)
        if waiter is None:
            shard.serve(end_offset)
        else:
            waiter.add_done_callback(lambda done: self._reached(shard, end_offset, done))

    def _reached(self, shard: Shard, end_offset: int, done: "Future[None]") -> None:
        if not shard.leads:
            return
        if done.cancelled():
            shard.damaged()
            partition = shard.partition
            logger.critical(
                "%s-%d: its records can't be committed; the coordinator does not serve it",
                partition.topic,
                partition.index,
            )
        else:
            shard.serve(end_offset)


def _report(task: "Task[None]") -> None:
    if not task.cancelled():
        task.result()  # if it raised, the event loop logs that at once
