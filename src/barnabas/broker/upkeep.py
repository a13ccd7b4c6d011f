"""Periodic work: retention, compaction, checkpoints, idle connections."""

import logging
from asyncio import sleep, timeout
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from barnabas.broker.node import Node
from barnabas.broker.replica.log_cleaner import LogCleaner
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.scrubber import Scrubber
from barnabas.broker.runtime.free_memory import FreeMemory
from barnabas.log import StorageError

logger = logging.getLogger(__name__)

_SWEEP_S = 1.0
_CERTIFICATES_S = 2.0
_SECRET_S = 2.0
_GIVE_BACK_S = 10.0
_SET_ASIDE_S = 600.0
_SOON_MS = 20
_FAILED_MS = 1_000


def upkeep(node: Node) -> list[Coroutine[Any, Any, None]]:
    """The background loops; each runs until it is cancelled."""
    config = node.config
    scrubber = Scrubber(node.loop, node.executor, node.clock, config, node.partitions)
    cleaner = LogCleaner(
        node.loop,
        node.executor,
        node.threads.compactor,
        node.environment.disk,
        node.clock,
        config,
        node.partitions,
        node.compaction_backlog,
        label=f".{node.random.randbytes(6).hex()}",
    )
    return [
        _every(_SWEEP_S, node.connections.sweep),
        _every(_GIVE_BACK_S, FreeMemory().give_back),
        _every(_SWEEP_S, lambda: _leave_full_disk(node)),
        _every_partition(
            node, config.upkeep.retention_check_interval_ms, lambda p: _retain(node, p)
        ),
        _every_partition(
            node,
            config.upkeep.flush_checkpoint_interval_ms,
            lambda p: _checkpoint(node, p),
        ),
        cleaner.run(),
        scrubber.run(),
        scrubber.run_rejected(),
        _write_high_watermarks(node),
        _every(_SET_ASIDE_S, lambda: _remove_set_aside(node)),
    ]


def follow_certificates(node: Node) -> Coroutine[Any, Any, None]:
    """Runs until it is cancelled, also while the node starts: that may take long."""
    return _every(_CERTIFICATES_S, node.refresh_tls)


def follow_secret(node: Node) -> Coroutine[Any, Any, None]:
    """As `follow_certificates`: a node that starts needs the others."""
    return _every(_SECRET_S, node.credentials.refresh)


async def _every(seconds: float, work: Callable[[], None]) -> None:
    while True:
        await sleep(seconds)
        work()


async def _every_partition(node: Node, interval_ms: int, work: Callable[[Partition], None]) -> None:
    """Visit all partitions in each round, with a pause after each so that requests are served."""
    while True:
        await sleep(interval_ms / 1000)
        for partition in node.partitions:
            if partition.deleted:
                continue
            try:
                work(partition)
            except StorageError as error:
                logger.error("%s-%d: %s", partition.topic, partition.index, error)
            await sleep(0)


async def _write_high_watermarks(node: Node) -> None:
    interval_ms = node.config.replicas.checkpoint_interval_ms
    watermarks = node.partitions.high_watermarks
    has_failed = False
    pause_ms = _SOON_MS
    while True:
        await sleep(min(interval_ms, pause_ms) / 1000)
        # Before Python 3.12 `wait_for` may swallow the cancellation that ends this loop.
        with suppress(TimeoutError):
            async with timeout(interval_ms / 1000):
                await watermarks.is_urgent.wait()
        write = watermarks.draft()
        if write is None:
            continue
        error: OSError | None = None
        began_ms = node.clock.steady_ms()
        try:
            await node.loop.run_in_executor(node.executor, write)
        except OSError as failure:
            error = failure
            if not has_failed:
                logger.error("the high watermarks can't be written: %s", error)
        has_failed = error is not None
        watermarks.written(error)
        took_ms = node.clock.steady_ms() - began_ms
        pause_ms = _FAILED_MS if has_failed else max(_SOON_MS, 10 * took_ms)


def _leave_full_disk(node: Node) -> None:
    """Let other nodes lead, also where no client writes: this one learns no decisions now."""
    quorum = node.quorum
    if quorum.should_leave_full_disk:
        logger.error("this node resigns as controller: its disk is full")
        quorum.resign()
    if quorum.is_stuck:
        node.partitions.resign_unwritable()


def _remove_set_aside(node: Node) -> None:
    """Delete set-aside records that exceed their retention time or size."""
    retention_ms = node.config.upkeep.set_aside_retention_ms
    retention_bytes = node.config.upkeep.set_aside_retention_bytes
    try:
        job = node.data.expired_set_aside(node.clock.now_ms(), retention_ms, retention_bytes)
    except OSError as error:
        logger.error("can't list the directory set-aside: %s", error)
        return
    if job is not None:
        for directory in job.directories:
            logger.info("removing %s: beyond log.set.aside.retention.ms or .bytes", directory)
        node.partitions.run_later(job)


def _retain(node: Node, partition: Partition) -> None:
    log = partition.log
    job = log.retention.apply(node.clock.now_ms(), upto_offset=partition.high_watermark)
    if job is not None:
        configs = node.image.topic_configs(partition.topic)
        delay_ms = node.config.topic(configs).file_delete_delay_ms
        logger.info(
            "%s-%d starts at %d now: %d segments deleted",
            partition.topic,
            partition.index,
            log.log_start_offset,
            len(job.segments),
        )
        node.partitions.run_later(job, delay_ms)


def _checkpoint(node: Node, partition: Partition) -> None:
    """Keep recovery short: sync finished segments, then write the recovery checkpoint."""
    # By both clocks: one that is set forward makes no producer idle, whose retry would be stored
    # again.
    idle_ms = min(node.clock.now_ms(), node.clock.steady_ms())
    partition.log.producer_state.expire(idle_ms)
    partition.checkpoint()
    if partition.log.flusher.is_due(node.clock.now_ms()):
        node.flusher.flush(partition)
