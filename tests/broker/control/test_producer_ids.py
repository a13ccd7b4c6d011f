"""Ids of producers: from blocks, and not too many of them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.control.producer_ids import ProducerIds, TooManyProducers


class _Calls:
    def __init__(self) -> None:
        self.blocks = 0

    async def call(self, _: Any) -> Any:
        self.blocks += 1
        first = self.blocks * 1000
        return SimpleNamespace(error_code=0, producer_id_start=first, producer_id_len=2)


def test_so_many_are_given_out_in_a_second() -> None:
    now = [10.0]
    loop: Any = SimpleNamespace(time=lambda: now[0])
    calls: Any = _Calls()

    async def scenario() -> None:
        ids = ProducerIds(loop, 1, calls, lambda: 1, lambda: 3)
        assert [await ids.next() for _ in range(3)] == [1000, 1001, 2000]
        for _ in range(5):
            with pytest.raises(TooManyProducers):
                await ids.next()
        assert calls.blocks == 2, "the controller has no work with it"
        now[0] += 0.4
        assert await ids.next() == 2001
        with pytest.raises(TooManyProducers):
            await ids.next()

    asyncio.run(scenario())
