"""Copying goes on between rounds, and is reported by the next one."""

import asyncio
from dataclasses import replace

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror import copy_round
from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.round_report import EARLIER, LATE, ReportRow, report_of
from barnabas.spark.mirror.lingering_round import LingeringRounds, RoundKey
from tests.mirror.copies import make_topic, records_of
from tests.support.wait import wait_until

Ends = tuple[ClusterEnd, ClusterEnd]


def send(end: ClusterEnd, topic: str, value: bytes) -> None:
    with barnabas.Producer(end.bootstrap_servers) as producer:
        producer.send(topic, value, partition=0)


def test_a_round_goes_on_until_the_next_one(ends: Ends, topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    flow = Flow(a, b, topics=(topic,), names=Names.IDENTITY, round_s=0.5, linger_s=30.0)
    there = TopicPartition(topic, 0)
    key = RoundKey(flow, (CopiedPartition(there, there),), None)
    begun: list[CopyRound] = []

    def is_copied(count: int) -> bool:
        return len(records_of(b, topic)) == count

    async def run() -> None:
        rounds = LingeringRounds()
        async with flow.source.client() as source, flow.target.client() as target:

            def begin() -> CopyRound:
                begun.append(CopyRound(source, target, flow, key.partitions))
                return begun[-1]

            async def next_round(number: int, wanted: RoundKey = key) -> list[ReportRow]:
                return await rounds.run(wanted, number, begin)

            async def copy_in_round(number: int, wanted: RoundKey) -> int:
                """Rounds until one has copied, and owns the partition; the number of the next."""
                await asyncio.to_thread(send, a, topic, b"in a round")
                while not report_of(await next_round(number, wanted)).syncs:
                    number += 1
                return number + 1

            async def copy_between(count: int) -> None:
                await asyncio.to_thread(send, a, topic, b"between rounds")
                await asyncio.to_thread(wait_until, lambda: is_copied(count))

            number = await copy_in_round(1, key)
            await copy_between(2)
            assert report_of(await next_round(number)).records == 1
            assert len(begun) == 1  # it was continued
            await copy_between(3)
            other = key._replace(share=1e9)
            rows = await next_round(number + 1, other)
            assert [each.upstream for each in rows if each.kind == EARLIER] == [2]
            assert len(begun) == 2
            number = await copy_in_round(number + 2, other)
            await copy_between(5)
            assert report_of(await next_round(number + 1)).syncs == []  # too late for that
            assert len(begun) == 3
            await begun[-1].finish()

    asyncio.run(run())
    assert is_copied(5)


def test_a_round_copies_after_its_end_what_was_idle_until_then(ends: Ends, topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    flow = Flow(a, b, topics=(topic,), names=Names.IDENTITY, round_s=0.5, linger_s=30.0)
    there = TopicPartition(topic, 0)
    key = RoundKey(flow, (CopiedPartition(there, there),), None)

    async def run() -> None:
        async with flow.source.client() as source, flow.target.client() as target:
            begun = CopyRound(source, target, flow, key.partitions)
            rounds, number = LingeringRounds(), 1
            await rounds.run(key, number, lambda: begun)
            while not begun.owned:  # a starved machine may need several rounds for that
                number += 1
                await rounds.run(key, number, lambda: begun)
            await asyncio.to_thread(send, a, topic, b"first")
            await asyncio.to_thread(wait_until, lambda: len(records_of(b, topic)) == 1)
            rows = await rounds.run(key, number + 1, lambda: begun)
            assert report_of(rows).records == 1
            await begun.finish()

    asyncio.run(run())


def test_a_round_that_is_over_does_not_fence_the_next_one(
    ends: Ends, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_round, "EARLY_OWNED", 0)
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    flow = Flow(a, b, topics=(topic,), names=Names.IDENTITY, round_s=0.5, linger_s=30.0)
    there = TopicPartition(topic, 0)
    key = RoundKey(flow, (CopiedPartition(there, there),), None)

    async def run() -> None:
        async with flow.source.client() as source, flow.target.client() as target:
            begun = [CopyRound(source, target, flow, key.partitions) for _ in range(2)]
            await LingeringRounds().run(key, 1, lambda: begun[0])  # owns nothing yet
            await asyncio.to_thread(send, a, topic, b"first")
            elsewhere = LingeringRounds()
            await elsewhere.run(key, 2, lambda: begun[1])
            await asyncio.to_thread(send, a, topic, b"second")
            await elsewhere.run(key, 3, lambda: begun[1])
            await asyncio.to_thread(wait_until, lambda: len(records_of(b, topic)) == 2)
            assert await begun[0].finish() == []
            await begun[1].finish()

    asyncio.run(run())


def test_another_flow_does_not_report_for_the_first() -> None:
    class Lingering:
        can_run_on = False

        async def finish(self) -> list[ReportRow]:
            return [ReportRow("sync")]

        async def run_on(self, seconds: float, linger_s: float) -> list[ReportRow]:
            return []

    flow = Flow(ClusterEnd("A", "a:1"), ClusterEnd("B", "b:1"))
    other = replace(flow, target=ClusterEnd("C", "c:1"))
    rounds = LingeringRounds()

    async def run() -> None:
        await rounds.run(RoundKey(flow, (), None), 1, Lingering)
        assert await rounds.run(RoundKey(other, (), None), 2, Lingering) == []
        (row,) = await rounds.run(RoundKey(other, (), None), 3, Lingering)
        assert row.kind == EARLIER
        (row,) = await rounds.run(RoundKey(flow, (), None), 2, Lingering)
        assert row.kind == EARLIER
        (row,) = await rounds.run(RoundKey(flow, (), None), 5, Lingering)
        assert row.kind == LATE
        made = report_of([row._replace(records=2)])
        assert made.records == 2
        assert made.syncs == []

    asyncio.run(run())
