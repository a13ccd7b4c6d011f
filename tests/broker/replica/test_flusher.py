"""Flushing on another thread, and what happens when the disk refuses to."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.flusher import Flusher
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.runtime.clock import Clock
from barnabas.log import Log, LogConfig, OsDisk, StorageError
from barnabas.log.storage import File
from barnabas.metadata.image import PartitionImage
from tests.broker.raw_client import batch, now_ms
from tests.support.wait import LIMIT_S

LIMITS = AppendLimits(1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False)

Test = Callable[[Partition, Flusher, "Disk"], Coroutine[Any, Any, None]]


class Disk(OsDisk):
    """A disk that can be told to fail its syncs."""

    fails = False
    syncs = 0

    def open(self, path: str, *, create: bool = False) -> File:
        file = super().open(path, create=create)
        return self._counting(file)

    def _counting(self, file: File) -> File:
        sync, duplicate = file.sync, file.duplicate

        def counted() -> None:
            self.syncs += 1
            if self.fails:
                raise OSError(5, "Input/output error")
            sync()

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        counting: Any = Counting()
        counting.sync = counted
        counting.duplicate = lambda: self._counting(duplicate())
        return counting  # type: ignore[no-any-return]


def run(path: Path, config: LogConfig, test: Test) -> None:
    """Run a test with a partition in `path` on an event loop of its own."""

    async def body() -> None:
        disk = Disk()
        log = Log.open(disk, str(path / "t-0"), config, now_ms())
        with ThreadPoolExecutor(1) as executor:
            loop, clock = asyncio.get_running_loop(), Clock()
            flusher = Flusher(loop, executor, clock)
            host = PartitionHost(
                1, loop, clock, 1000, lambda _: 1, flusher.appended, lambda _: None
            )
            partition = Partition("t", 0, bytes(16), log, LIMITS, host)
            partition.apply(PartitionImage(0, [1], [1], 1, 0, 0))
            await test(partition, flusher, disk)
            await flusher.close()
        log.abandon()

    asyncio.run(body())


def put(partition: Partition, *values: bytes) -> "asyncio.Future[None] | None":
    """Append, and say what to wait for."""
    info = partition.appender.append(bytearray(batch(*values)), now_ms())
    return partition.committed(info.last_offset + 1)


def test_many_writes_share_few_flushes(tmp_path: Path) -> None:
    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        waiting = [put(partition, b"%d" % number) for number in range(200)]
        await asyncio.gather(*filter(None, waiting))
        assert partition.high_watermark == 200
        assert 0 < disk.syncs < 20

    run(tmp_path, LogConfig(flush_messages=1), test)


def test_closing_does_not_spin_on_a_flush_that_has_just_ended(tmp_path: Path) -> None:
    def give_up(*_: object) -> None:
        raise AssertionError("the event loop stands still")

    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        put(partition, b"a")
        (running,) = flusher._running
        while not running.done():  # and its callback has not had its turn
            await asyncio.sleep(0)
        await flusher.close()
        assert not flusher._running

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    try:
        run(tmp_path, LogConfig(flush_messages=1), test)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_failed_flush_is_told_to_all_who_wait(tmp_path: Path) -> None:
    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        disk.fails = True
        waiting = [put(partition, b"a"), put(partition, b"b")]
        done, _ = await asyncio.wait(filter(None, waiting), timeout=LIMIT_S)
        assert len(done) == 2
        assert all(future.cancelled() for future in done)
        assert partition.high_watermark == 0
        with pytest.raises(StorageError):
            put(partition, b"c")

    run(tmp_path, LogConfig(flush_messages=1), test)


def test_who_waits_for_a_flush_after_a_failed_one_hears_that_none_comes(tmp_path: Path) -> None:
    """Otherwise a fetcher would wait forever, with all the partitions that it follows."""

    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        disk.fails = True
        failed = put(partition, b"a")
        assert failed is not None
        await asyncio.wait([failed], timeout=LIMIT_S)
        flushed = partition.flush_waits.next()
        flusher.flush(partition)
        assert flushed.cancelled()

    run(tmp_path, LogConfig(flush_messages=1), test)


def test_a_shorter_age_counts_at_once(tmp_path: Path) -> None:
    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        waiting = put(partition, b"a")
        assert waiting is not None
        partition.configure(LogConfig(flush_ms=20), LIMITS)
        await asyncio.wait_for(waiting, 60)
        assert partition.high_watermark == 1

    run(tmp_path, LogConfig(flush_ms=3_600_000), test)


def test_closing_waits_for_flushes_that_follow(tmp_path: Path) -> None:
    """A flush that ends begins the next one; after closing none is under way."""

    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        put(partition, b"a")
        put(partition, b"b")
        await flusher.close()
        assert partition.log.flushed_offset == 2
        assert not flusher._running

    run(tmp_path, LogConfig(flush_messages=1), test)


def test_a_partition_that_goes_is_left_alone(tmp_path: Path) -> None:
    async def test(partition: Partition, flusher: Flusher, disk: Disk) -> None:
        waiting = put(partition, b"a")
        assert waiting is not None
        partition.retire()
        await flusher.close()
        assert waiting.cancelled()
        assert partition.high_watermark == 0

    run(tmp_path, LogConfig(flush_messages=1), test)
