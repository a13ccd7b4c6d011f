"""What is written at once fits the link, and requests in flight are limited."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import RequestTimedOut
from barnabas.mirror import partition_writer
from barnabas.mirror.batches import OutgoingBatch
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.partition_writer import PartitionWriter
from barnabas.mirror.write_budget import (
    LATE_S,
    LEAST_BYTES,
    MOST_BYTES,
    MOST_TRANSACTION_BYTES,
    SOON_S,
    START_BYTES,
    WriteBudget,
)

PARTITION = TopicPartition("orders", 0)


class Link:
    """Transactions of one partition after the other, each as large as it may be."""

    def __init__(self) -> None:
        self.now = 0.0
        self.budget = WriteBudget(lambda: self.now)

    async def write(self, took_s: float, size: int | None = None) -> None:
        async with self.budget.taken(self.budget.transaction_bytes if size is None else size):
            self.now += took_s
            await asyncio.sleep(0)

    def budget_after(self, *times: float, size: int | None = None) -> int:
        async def run() -> None:
            for each in times:
                await self.write(each, size)

        asyncio.run(run())
        return self.budget.bytes


def test_the_budget_follows_the_link() -> None:
    link = Link()
    assert link.budget_after((SOON_S + LATE_S) / 2) == START_BYTES
    assert link.budget_after(0.1) == START_BYTES * 2
    assert link.budget_after(*[0.1] * 3) == START_BYTES * 16
    assert link.budget_after(LATE_S + 1) == START_BYTES * 8
    assert link.budget.transaction_bytes == START_BYTES * 4
    assert link.budget_after(*[LATE_S + 1] * 20) == LEAST_BYTES


def test_a_fast_link_gets_as_much_as_memory_allows() -> None:
    """Several partitions write at once: one transaction does not fill the budget."""
    link = Link()

    async def run() -> None:
        for _ in range(20):
            await asyncio.gather(*(link.write(0.01) for _ in range(8)))

    asyncio.run(run())
    assert link.budget.bytes == MOST_BYTES
    assert link.budget.transaction_bytes == MOST_TRANSACTION_BYTES


def test_a_trickle_says_nothing_about_the_link() -> None:
    assert Link().budget_after(*[0.01] * 100, size=100) == START_BYTES


def test_a_timeout_halves_the_budget() -> None:
    link = Link()

    async def fail() -> None:
        with suppress(RequestTimedOut):
            async with link.budget.taken(1):
                raise RequestTimedOut("late")

    asyncio.run(fail())
    assert link.budget.bytes == START_BYTES // 2


def test_transactions_wait_for_room_and_change_the_budget_once() -> None:
    link = Link()
    half = START_BYTES // 2
    writing = most = 0

    async def write() -> None:
        nonlocal writing, most
        async with link.budget.taken(half):
            writing += 1
            most = max(most, writing)
            await asyncio.sleep(0)
            link.now += LATE_S + 1
            writing -= 1

    async def run() -> None:
        await asyncio.gather(write(), write())
        assert link.budget.bytes == half, "both began with the same budget"
        await asyncio.gather(*(write() for _ in range(3)))

    asyncio.run(run())
    assert most == 2


@pytest.mark.parametrize(("size", "most"), [(170, 256), (100_000, 10), (2_000_000, 1)])
def test_requests_in_flight_are_limited_and_in_order(size: int, most: int) -> None:
    class Counting(PartitionWriter):
        sent: list[int] = []  # noqa: RUF012
        in_flight = most_in_flight = 0

        async def _send(self, connection: Any, batch: OutgoingBatch) -> int:
            self.sent.append(batch.records)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.in_flight -= 1
            return batch.records

    nothing: Any = None
    flow = Flow(ClusterEnd("A", "a:9092"), ClusterEnd("B", "b:9092"))
    batches = [OutgoingBatch(bytearray(size), number, 0, ()) for number in range(600)]

    async def send() -> list[int]:
        return await writer._send_all(nothing, batches)

    writer = Counting(nothing, flow, PARTITION, nothing)
    assert asyncio.run(send()) == list(range(600))
    assert writer.sent == list(range(600))
    assert writer.most_in_flight == most
    assert partition_writer.WRITE_S < partition_writer.TRANSACTION_TIMEOUT_MS / 1000
