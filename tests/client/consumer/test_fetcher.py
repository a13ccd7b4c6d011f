"""The fetcher alone: what it asks for, when it asks again, and what it drops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.completed_fetch import CompletedFetchReader
from barnabas.client.consumer.fetcher import PREFETCH_BYTES, Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BrokerError, DataLost, NotAuthorized
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.client.fake_cluster import FakeCluster, FakeLog
from tests.client.virtual_time import now, run

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@asynccontextmanager
async def fetching(
    fake: FakeCluster, positions: dict[TopicPartition, int], **options: Any
) -> AsyncIterator[Fetcher]:
    retry_timeout_ms = options.pop("retry_timeout_ms", 30_000)
    async with fake.client(retry_timeout_ms=retry_timeout_ms) as cluster:
        fetcher = Fetcher(cluster, lambda: None, **options)
        fetcher.assign({each: PartitionProgress(offset) for each, offset in positions.items()})
        yield fetcher
        await fetcher.close()


async def read(fetcher: Fetcher, count: int) -> list[int]:
    """The offsets of the next messages, which are delivered; raises what the fetcher fails with."""
    offsets: list[int] = []
    while len(offsets) < count:
        completed = fetcher.buffer.take()
        if completed is None:
            error = fetcher.failure()
            if error is not None:
                raise error
            await asyncio.sleep(0.001)
            continue
        reader = CompletedFetchReader(completed)
        while messages := reader.read():
            offsets += [message.offset for message in messages]
        reader.progress.deliver(reader.position, reader.position)
    return offsets


def test_it_fetches_ahead_of_who_reads() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 100))
        async with fetching(fake, {T0: 4}) as fetcher:
            await asyncio.sleep(1)
            assert await read(fetcher, 96) == list(range(4, 100))
            assert fetcher.states[T0].progress.position == 100

    run(main())


def test_a_partition_without_a_leader_is_retried_with_back_off() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 5), p1=FakeLog(0, 5))
        fake.leaders[T1] = -1
        async with fetching(fake, {T0: 0, T1: 0}) as fetcher:
            assert await read(fetcher, 5) == [0, 1, 2, 3, 4]  # of the other partition
            assert now() < 0.1
            await asyncio.sleep(4.0 - now())
            assert list(fetcher.unavailable) == [T1]
            asked = fake.times(MetadataRequest)
            gaps = [later - earlier for earlier, later in pairwise(asked)]
            retries = [gap for gap in gaps if gap > 0.02]
            assert retries[:4] == pytest.approx([0.05, 0.1, 0.2, 0.4], abs=0.02)
            assert max(retries) < 1.1
            fake.elect(T1, 2)
            assert await read(fetcher, 5) == [0, 1, 2, 3, 4]
            assert not fetcher.unavailable

    run(main())


def test_a_new_leader_is_found_and_nothing_is_lost_or_read_twice() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 30))
        async with fetching(fake, {T0: 0}) as fetcher:
            assert await read(fetcher, 30) == list(range(30))
            fake.elect(T0, 2)
            fake.logs[T0].end = 60
            assert await read(fetcher, 30) == list(range(30, 60))
            fake.down.add(2)
            fake.elect(T0, 1)
            fake.logs[T0].end = 70
            assert await read(fetcher, 10) == list(range(60, 70))

    run(main())


def test_a_position_before_the_log_is_data_loss_or_a_new_start() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(20, 30))
        async with fetching(fake, {T0: 5}) as fetcher:
            with pytest.raises(DataLost, match=r"t-0 has no offset 5: .* begins at 20"):
                await read(fetcher, 1)
        async with fetching(fake, {T0: 5}, out_of_range=EARLIEST) as fetcher:
            assert await read(fetcher, 10) == list(range(20, 30))

    run(main())


def test_a_log_that_was_truncated_is_data_loss_or_a_new_start() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 30))
        async with fetching(fake, {T0: 0}) as fetcher:
            assert await read(fetcher, 30) == list(range(30))
            fake.logs[T0].end = 12
            with pytest.raises(
                DataLost, match=r"no offset 30: .* ends before 12; its end was truncated"
            ):
                await read(fetcher, 1)
        fake.logs[T0].end = 30
        async with fetching(fake, {T0: 0}, out_of_range=EARLIEST) as fetcher:
            assert await read(fetcher, 30) == list(range(30))
            fake.logs[T0].end = 12
            assert await read(fetcher, 12) == list(range(12))

    run(main())


def test_what_arrives_for_a_partition_that_was_paused_meanwhile_is_dropped() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 10))
        fake.delay_s[FetchRequest] = 0.5
        async with fetching(fake, {T0: 0}) as fetcher:
            await asyncio.sleep(0.2)
            assert len(fake.times(FetchRequest)) == 1
            fetcher.pause(T0)
            await asyncio.sleep(5)
            assert fetcher.buffer.take() is None
            assert len(fake.times(FetchRequest)) == 1
            fetcher.resume(T0)
            assert await read(fetcher, 10) == list(range(10))

    run(main())


def test_what_arrives_for_a_position_before_a_seek_is_dropped() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 40))
        fake.delay_s[FetchRequest] = 0.5
        async with fetching(fake, {T0: 0}) as fetcher:
            await asyncio.sleep(0.2)
            fetcher.seek(T0, 25)
            assert await read(fetcher, 15) == list(range(25, 40))
            fetcher.seek(T0, 3)
            assert await read(fetcher, 10) == list(range(3, 13))

    run(main())


def test_it_fetches_no_more_than_the_bound_until_somebody_takes() -> None:
    async def main() -> None:
        size = PREFETCH_BYTES // 4
        fake = FakeCluster(p0=FakeLog(0, 100, batch=1, size=size))
        async with fetching(fake, {T0: 0}) as fetcher:
            await asyncio.sleep(60)
            assert len(fake.times(FetchRequest)) == 4
            assert await read(fetcher, 2) == [0, 1]
            await asyncio.sleep(60)
            assert len(fake.times(FetchRequest)) == 6

    run(main())


def test_when_nothing_can_be_read_for_too_long_that_is_a_failure() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 10))
        fake.leaders[T0] = -1
        async with fetching(fake, {T0: 0}, retry_timeout_ms=10_000) as fetcher:
            with pytest.raises(BrokerError, match="leader"):
                await read(fetcher, 1)
            assert 10 < now() < 12

    run(main())


@pytest.mark.parametrize("waits", [False, True])
def test_a_service_waits_for_its_brokers_as_long_as_it_takes(waits: bool) -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 10))
        async with fetching(fake, {T0: 0}, retry_timeout_ms=10_000, waits=waits) as fetcher:
            assert await read(fetcher, 10) == list(range(10))
            fake.leaders[T0] = -1
            failure = None
            while failure is None and now() < 60:
                await asyncio.sleep(1)
                failure = fetcher.failure()
            assert (failure is None) is waits
            fake.leaders[T0] = 1
            fake.logs[T0].end = 11
            assert await read(fetcher, 1) == [10]

    run(main())


def test_what_no_retry_changes_is_a_failure_at_once() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 10))
        fake.errors[FetchRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        async with fetching(fake, {T0: 0}) as fetcher:
            with pytest.raises(NotAuthorized):
                await read(fetcher, 1)
            assert now() < 0.1
            assert await read(fetcher, 10) == list(range(10))

    run(main())


def test_what_was_fetched_before_a_failure_is_delivered_first() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 10))
        async with fetching(fake, {T0: 0}) as fetcher:
            await asyncio.sleep(0.1)
            fake.logs[T0].end = 20
            fake.errors[FetchRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            await asyncio.sleep(1)
            assert fetcher.unavailable
            assert fetcher.failure() is None
            assert await read(fetcher, 10) == list(range(10))
            assert isinstance(fetcher.failure(), NotAuthorized)
            assert await read(fetcher, 10) == list(range(10, 20))

    run(main())


def test_closing_does_not_wait_for_a_fetch_that_is_under_way() -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 0))
        fake.delay_s[FetchRequest] = 20
        async with fetching(fake, {T0: 0}) as fetcher:
            await asyncio.sleep(1)
            closing = now()
            await fetcher.close()
            assert now() == closing
            assert not fetcher.states

    run(main())
