"""The fetcher of one leader: what it asks for, and when."""

import asyncio
from types import SimpleNamespace
from typing import Any

from barnabas.broker.follower.replica_fetcher import FetcherHost, ReplicaFetcher
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import ReplicaDoubt, settle_doubt
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import Log, LogConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tests.broker.follower.test_follower_log import LED_BY_2, LIMITS, replica
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.support.wait import wait_until_async


def test_a_late_failure_of_a_former_try_does_not_stop_the_new_one() -> None:
    """The flush that the former try waits for fails after the log was cut and followed again."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[Any] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            calls.append(request)
            return loop.create_future()

        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, lambda _: None, lambda _: None)
        _, partition = replica()
        partition.apply(LED_BY_2)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        (former,) = fetcher._followed.values()
        fetcher.leave(partition)
        fetcher.follow(partition)
        fetcher._back_off(former)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (request,) = calls
        assert [topic.topic_id for topic in request.topics] == [partition.topic_id]
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def test_what_has_to_be_flushed_is_not_acknowledged_before() -> None:
    """The next fetch acknowledges everything below its offset."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[tuple[Any, asyncio.Future[Any]]] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            calls.append((request, loop.create_future()))
            return calls[-1][1]

        to_flush: list[Partition] = []
        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, to_flush.append, lambda _: None)
        partition = flushed_replica(loop)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        await wait_until_async(lambda: bool(calls))
        calls[0][1].set_result(answer(partition))
        await wait_until_async(lambda: bool(to_flush))
        for _ in range(10):
            await asyncio.sleep(0)
        assert (partition.log.log_end_offset, partition.log.flushed_offset) == (1, 0)
        assert len(calls) == 1, "it waits for the flush"
        partition.log.flusher.flush()
        partition.flush_waits.release()
        await wait_until_async(lambda: len(calls) == 2)
        (topic,) = calls[1][0].topics
        assert [each.fetch_offset for each in topic.partitions] == [1]
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def test_what_is_there_when_it_begins_to_follow_is_flushed_first() -> None:
    """Such as a former leader's last records. If they can't be flushed, nothing is fetched."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[Any] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            calls.append(request)
            return loop.create_future()

        to_flush: list[Partition] = []
        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, to_flush.append, lambda _: None)
        partition = flushed_replica(loop)
        put(partition.log, b"a", epoch=5)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        await wait_until_async(lambda: len(to_flush) == 3)  # it is tried again and again
        assert not calls
        partition.log.flusher.flush()
        await wait_until_async(lambda: bool(calls))
        (topic,) = calls[0].topics
        assert [each.fetch_offset for each in topic.partitions] == [1]
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def test_suspect_records_go_when_the_leader_answers_and_not_before() -> None:
    """A leader that is named by the metadata may itself be in doubt: then it answers an error."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[tuple[Any, asyncio.Future[Any]]] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            future = loop.create_future()
            if request.topics:
                calls.append((request, future))
            else:  # it leaves the partition out for a while
                future.set_result(FetchResponse(session_id=1))
            return future

        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, lambda _: None, lambda _: None)
        disk, partition = replica()
        disk.capacity = 1 << 30
        partition.apply(LED_BY_2)
        partition.doubt = ReplicaDoubt("the machine lost power", 0, lacks_end=True)
        assert settle_doubt(partition)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        for number, error in enumerate((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE)):
            await wait_until_async(lambda number=number: len(calls) > number)
            (topic,) = calls[number][0].topics
            assert [each.fetch_offset for each in topic.partitions] == [0]
            assert partition.log.log_end_offset == 2
            data = PartitionData(partition_index=0, error_code=error, log_start_offset=0)
            topics = [FetchableTopicResponse(topic_id=partition.topic_id, partitions=[data])]
            calls[number][1].set_result(FetchResponse(session_id=1, responses=topics))
        await wait_until_async(lambda: len(calls) > 2)
        assert partition.log.log_end_offset == 0
        assert partition.doubt.refetch_upto == 2
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def test_the_leader_learns_what_the_follower_s_own_retention_has_deleted() -> None:
    """DeleteRecords waits for it, and nobody writes, so that no fetch is due for another reason."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[tuple[Any, asyncio.Future[Any]]] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            calls.append((request, loop.create_future()))
            return calls[-1][1]

        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, lambda _: None, lambda _: None)
        disk, partition = replica()
        disk.capacity = 1 << 30
        partition.apply(LED_BY_2)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        await wait_until_async(lambda: bool(calls))
        partition.log.retention.delete_records_before(2)
        data = PartitionData(partition_index=0, high_watermark=2, log_start_offset=2)
        topics = [FetchableTopicResponse(topic_id=partition.topic_id, partitions=[data])]
        calls[0][1].set_result(FetchResponse(session_id=1, responses=topics))
        await wait_until_async(lambda: len(calls) == 2)
        told = [each.log_start_offset for topic in calls[1][0].topics for each in topic.partitions]
        assert told == [2]
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def flushed_replica(loop: asyncio.AbstractEventLoop) -> Partition:
    """An empty replica on node 1 of a topic with flush.messages=1."""
    host = PartitionHost(1, loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None)
    log = Log.open(MemoryDisk(), "data/t-0", LogConfig(flush_messages=1), 0)
    partition = Partition("t", 0, bytes(16), log, LIMITS, host)
    partition.apply(LED_BY_2)
    assert partition.flush_required
    return partition


def answer(partition: Partition) -> FetchResponse:
    """A record for an empty replica."""
    log = Log.open(MemoryDisk(), "data/t-0", LogConfig(), 0)
    put(log, b"a", epoch=5)
    data = PartitionData(partition_index=0, records=log.read(0, 1 << 20), log_start_offset=0)
    topic = FetchableTopicResponse(topic_id=partition.topic_id, partitions=[data])
    return FetchResponse(session_id=1, responses=[topic])
