"""Produce while some partitions of the request are still to become part of the transaction."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from barnabas.broker.handlers import produce
from barnabas.broker.runtime.clock import Clock
from barnabas.log import AppendInfo
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

Done = Callable[[ErrorCode], None]


class _Partition:
    """Leads until the test says otherwise; all that it stores is committed at once, unless it is
    `slow`."""

    def __init__(self, *, slow: bool = False) -> None:
        self._lag = 1 if slow else 0
        self.waits: list[Done] = []
        self.appender = self
        self.is_leader = True
        self.leader_epoch = 3
        self.lacks_replicas = False
        self.log = SimpleNamespace(log_end_offset=10)
        self.limits = SimpleNamespace(compression=None)

    def check(self, *_: Any) -> None:
        """All batches are valid."""

    @property
    def high_watermark(self) -> int:
        return self.log.log_end_offset - self._lag

    def when_committed(self, _end: int, _timeout_ms: int, done: Done) -> None:
        self.waits.append(done)

    def append(self, _records: Any, _now_ms: int, *, verified: bool, **_: Any) -> AppendInfo:
        assert verified
        return AppendInfo(9, 9, -1, 0)


class _Node:
    def __init__(self, partitions: list[_Partition]) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock = Clock()
        self.transaction_verification = self
        self.recompression = SimpleNamespace(passes=lambda *_: True, budget=None)
        self.partitions = SimpleNamespace(by_name={"t": partitions})
        self.image = SimpleNamespace(topics={}, topics_by_id={})
        self.lifecycle = SimpleNamespace(is_cut_off=False)
        self.waiting: list[Done] = []

    def when_verified(self, *_: Any, adds: bool, done: Done) -> None:
        assert adds
        self.waiting.append(done)


def _begin(node: _Node) -> "Future[ProduceResponse]":
    row = (0, None, b"v", ())
    records = encode_batch(
        [row], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    count = len(node.partitions.by_name["t"])
    data = [PartitionProduceData(index, bytes(records)) for index in range(count)]
    request = ProduceRequest("tx", -1, 1000, [TopicProduceData("t", partition_data=data)])
    context = SimpleNamespace(version=12, connection=None)
    answer = produce.handle(node, request, context)  # type: ignore[arg-type]
    assert isinstance(answer, Future)
    return answer


def _answers(response: ProduceResponse) -> list[PartitionProduceResponse]:
    return response.responses[0].partition_responses


def test_all_are_answered_when_the_last_is_verified() -> None:
    async def scenario() -> None:
        node = _Node([_Partition(), _Partition()])
        answer = _begin(node)
        node.waiting[0](ErrorCode.NONE)
        assert not answer.done()
        node.waiting[1](ErrorCode.NONE)
        assert [(each.error_code, each.base_offset) for each in _answers(await answer)] == [
            (ErrorCode.NONE, 9),
            (ErrorCode.NONE, 9),
        ]

    asyncio.run(scenario())


def test_what_was_stored_may_be_lost_while_the_others_are_verified() -> None:
    """It has followed another leader, and perhaps leads again, without the batch."""

    async def scenario() -> None:
        lost = _Partition(slow=True)
        node = _Node([lost, _Partition()])
        answer = _begin(node)
        node.waiting[0](ErrorCode.NONE)
        lost.leader_epoch += 2
        lost.waits.pop()(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert not answer.done()
        node.waiting[1](ErrorCode.NONE)
        assert [(each.error_code, each.base_offset) for each in _answers(await answer)] == [
            (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
            (ErrorCode.NONE, 9),
        ]

    asyncio.run(scenario())
