"""A Produce request whose batches are stored in several turns, without a node."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.handlers import produce
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


class FakeConnection:
    is_held = False

    def hold(self) -> None:
        self.is_held = True

    def release(self) -> None:
        self.is_held = False


def test_a_bug_in_a_later_turn_fails_the_request_and_frees_the_connection() -> None:
    def check(records: bytes, _budget: object) -> None:
        if records.startswith(b"x"):
            raise RuntimeError("a bug")
        raise InvalidBatch(ErrorCode.INVALID_RECORD, "wrong")

    connection: Any = FakeConnection()

    async def ask() -> None:
        appender = SimpleNamespace(check=check)
        partition = SimpleNamespace(is_leader=True, appender=appender)
        node: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: 0),
            loop=asyncio.get_running_loop(),
            partitions=SimpleNamespace(by_name={"orders": [partition] * 4}),
            recompression=SimpleNamespace(passes=lambda *_: True, budget=None),
        )
        batches = [bytes(1 << 20)] * 3 + [b"x"]
        data = [PartitionProduceData(index, each) for index, each in enumerate(batches)]
        request = ProduceRequest(None, -1, 1_000, [TopicProduceData("orders", partition_data=data)])
        context: Any = SimpleNamespace(version=12, connection=connection)
        answer = produce.handle(node, request, context)
        assert isinstance(answer, asyncio.Future)
        assert connection.is_held
        async with asyncio.timeout(10):
            await answer

    with pytest.raises(RuntimeError, match="a bug"):
        asyncio.run(ask())
    assert not connection.is_held
