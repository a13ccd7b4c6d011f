"""A follower of a leader whose log is compacted: batches do not tell where epochs began."""

import asyncio
from types import SimpleNamespace
from typing import Any

from barnabas.broker.follower.replica_fetcher import FetcherHost, ReplicaFetcher
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import fetch_position
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import Log, LogConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    EpochEndOffset as EpochEndOffsetOfFetch,
)
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.broker.follower.test_follower_log import LED_BY_2, LIMITS
from tests.log.batches import batch, read_all
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import MemoryDisk
from tests.support.wait import wait_until_async

_CONFIG = LogConfig(
    segment_bytes=300, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0
)
_EPOCHS = [(0, 0), (1, 2), (2, 4)]


def _compacted_log() -> Log:
    """No batch of epoch 1 is left, nor the first of epoch 2."""
    disk = MemoryDisk()
    log = Log.open(disk, "data/t-0", _CONFIG, 0)
    keys = [b"kept", b"a", b"a", b"a", b"a", b"a", b"a", b"a"]
    for key, epoch in zip(keys, [0, 0, 1, 1, 2, 2, 2, 2], strict=True):
        log.append(*batch([(0, key, b"x" * 60)]), epoch, 0)
    assert compacted(log, disk, 1_000)
    assert [record.offset for record in read_all(log)] == [0, 5, 6, 7]
    return log


class _Leader:
    """Node 2, which leads the partition in epoch 5."""

    def __init__(self, log: Log, loop: asyncio.AbstractEventLoop) -> None:
        self._log = log
        self._loop = loop
        self.refusals = 0
        """How often it refuses to tell where epochs began."""
        self.fetch_error = ErrorCode.NONE
        self.removed_deletions = False
        """Whether a follower that has records must start over."""
        self.asked: list[int] = []
        self.fetched: list[int] = []

    def call(self, _node_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
        answer = self._loop.create_future()
        if isinstance(request, OffsetForLeaderEpochRequest):
            answer.set_result(self._epochs(request))
        elif isinstance(request, FetchRequest) and request.topics:
            answer.set_result(self._records(request))
        elif isinstance(request, FetchRequest) and request.forgotten_topics_data:
            answer.set_result(FetchResponse(session_id=1))
        return answer

    def _epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        (topic,) = request.topics
        self.asked += [each.leader_epoch for each in topic.partitions]
        if self.refusals:
            self.refusals -= 1
            refused = EpochEndOffset(ErrorCode.UNKNOWN_LEADER_EPOCH, 0)
            return OffsetForLeaderEpochResponse(
                topics=[OffsetForLeaderTopicResult(topic.topic, [refused] * len(topic.partitions))]
            )
        ends = [
            EpochEndOffset(0, 0, *self._log.end_offset_for_epoch(each.leader_epoch))
            for each in topic.partitions
        ]
        return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic.topic, ends)])

    def _records(self, request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        (asked,) = topic.partitions
        self.fetched.append(asked.fetch_offset)
        data = PartitionData(partition_index=0, high_watermark=8, log_start_offset=0)
        if self.removed_deletions and asked.fetch_offset:
            self.removed_deletions = False
            data.diverging_epoch = EpochEndOffsetOfFetch(asked.last_fetched_epoch, 0)
        elif self.fetch_error:
            data.error_code, self.fetch_error = self.fetch_error, ErrorCode.NONE
        elif asked.fetch_offset < self._log.log_end_offset:
            data.records = bytes(self._log.read(asked.fetch_offset, 1 << 20))
        answered = FetchableTopicResponse(topic_id=topic.topic_id, partitions=[data])
        return FetchResponse(session_id=1, responses=[answered])


def _follower(loop: asyncio.AbstractEventLoop, log: Log) -> Partition:
    host = PartitionHost(1, loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None)
    partition = Partition("t", 0, bytes(16), log, LIMITS, host)
    assert partition.apply(LED_BY_2)
    return partition


def _fetcher(leader: _Leader, loop: asyncio.AbstractEventLoop) -> ReplicaFetcher:
    peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=leader.call)
    host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, lambda _: None, lambda _: None)
    return ReplicaFetcher(2, host)


def test_a_new_replica_asks_where_epochs_began_behind_what_is_compacted() -> None:
    """With fewer epochs it would let other replicas truncate what is committed once it leads."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        leading = _compacted_log()
        leading.appender.begin_epoch(5)
        leader = _Leader(leading, loop)
        leader.refusals = 1
        disk = MemoryDisk()
        partition = _follower(loop, Log.open(disk, "data/t-0", _CONFIG, 0))
        fetcher = _fetcher(leader, loop)
        fetcher.follow(partition)
        await wait_until_async(lambda: leader.refusals == 0)
        assert partition.log.log_end_offset < 5, "what can't be placed is not stored"
        await wait_until_async(lambda: partition.log.log_end_offset == 8)
        assert partition.log.epochs.entries() == _EPOCHS
        assert partition.log.end_offset_for_epoch(1) == leading.end_offset_for_epoch(1) == (1, 4)
        assert leader.asked == [0, 1, 2, 3, 4] * 2
        await asyncio.wait([fetcher.stop()])
        partition.log.abandon()
        again = Log.open(disk, "data/t-0", _CONFIG, 0)
        assert again.epochs.entries() == _EPOCHS, "a kill does not make it forget them"

    asyncio.run(main())


def test_a_replica_that_has_nothing_left_to_compare_begins_again() -> None:
    """All records below its damage were compacted away, and it does not know their epochs."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        leader = _Leader(_compacted_log(), loop)
        disk = MemoryDisk()
        log = Log.open(disk, "data/t-0", _CONFIG, 0)
        log.append_as_follower(*_batches(_compacted_log(), 5), 0)
        log.truncate_to(6)
        log.epochs.truncate_from(-1)
        log.epochs.assign(2, 5)
        partition = _follower(loop, log)
        partition.doubt.suspect_from, partition.doubt.awaits_leader = 5, True
        assert fetch_position(partition) == (5, -1)
        leader.fetch_error = ErrorCode.OFFSET_OUT_OF_RANGE
        fetcher = _fetcher(leader, loop)
        fetcher.follow(partition)
        await wait_until_async(lambda: log.log_end_offset == 8)
        assert leader.fetched[:2] == [5, 0]
        assert [record.offset for record in read_all(log)] == [0, 5, 6, 7]
        assert partition.doubt.suspect_from is None
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def test_a_replica_that_has_missed_removed_tombstones_starts_over() -> None:
    """It still has the records that they deleted."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        leading = _compacted_log()
        leading.appender.begin_epoch(5)
        leader = _Leader(leading, loop)
        leader.removed_deletions = True
        disk = MemoryDisk()
        log = Log.open(disk, "data/t-0", _CONFIG, 0)
        for epoch in (0, 0, 1):
            log.append(*batch([(0, b"deleted", b"x" * 60)]), epoch, 0)
        partition = _follower(loop, log)
        fetcher = _fetcher(leader, loop)
        fetcher.follow(partition)
        await wait_until_async(lambda: log.log_end_offset == 8)
        assert leader.fetched[:2] == [3, 0]
        assert [record.offset for record in read_all(log)] == [0, 5, 6, 7]
        assert log.epochs.entries() == _EPOCHS
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())


def _batches(log: Log, offset: int) -> Any:
    from barnabas.log import checked_batches

    return checked_batches(memoryview(bytearray(log.read(offset, 1 << 20))), offset)
