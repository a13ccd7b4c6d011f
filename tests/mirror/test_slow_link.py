"""A mirror from an edge to a centre: over a link that is slow, distant and breaks.

The mirror is on the side of the source, as docs/mirroring.md says.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror import assigned_copies
from barnabas.mirror.assigned_copies import AssignedCopies
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.write_budget import WriteBudget
from tests.mirror.copies import make_topic, records_of
from tests.support.slow_link import SlowLink, slow_link

BATCH = 10_000
DELAY_S = 0.1
RATE = 4_000_000
SLOW_RATE = 100_000
LOSS = 0.02


class WatchedBudget(WriteBudget):
    """Remembers how much was in flight at most, and whether that was ever more than allowed."""

    def __init__(self, made: list["WatchedBudget"], monotonic: Callable[[], float]) -> None:
        super().__init__(monotonic)
        self.most = 0
        self.is_kept = True
        made.append(self)

    @asynccontextmanager
    async def taken(self, size: int) -> AsyncIterator[None]:
        async with super().taken(size):
            in_flight = self._in_flight
            self.most = max(self.most, in_flight)
            self.is_kept = self.is_kept and (in_flight == size or in_flight <= self.bytes)
            yield


def send(end: ClusterEnd, topic: str, count: int, partitions: int = 1) -> None:
    """Batches of one record, as small as those of a producer that does not linger."""
    with barnabas.Producer(end.bootstrap_servers, batch_bytes=BATCH) as producer:
        for number in range(count):
            value = b"%d " % number + os.urandom(BATCH // 2).hex().encode()
            producer.send(topic, value, partition=number % partitions)


async def copy_over(
    link: SlowLink, flow: Flow, topic: str, *, breaks: int = 0, partitions: int = 1
) -> list[CopyReport]:
    """Copy all, and break the link so many times meanwhile; the reports of every second."""
    names = [TopicPartition(topic, each) for each in range(partitions)]
    reports: list[CopyReport] = []
    distant = ClusterClient(flow.target.bootstrap_servers, environment=link.environment)
    async with flow.source.client() as source, distant as target:

        def hear(report: CopyReport) -> None:
            nonlocal breaks
            if breaks:
                breaks -= 1
                link.break_connections()
                return
            reports.append(report)
            if report.states and all(each.lag == 0 for each in report.states):
                copies.end()

        copied = [CopiedPartition(each, each) for each in names]
        copies = AssignedCopies(source, target, flow, copied)
        await copies.run(hear)
    return reports


def test_a_distant_target_gets_what_the_link_carries(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    flow = Flow(*ends, names=Names.IDENTITY)
    for each in ends:
        make_topic(each, topic)
    send(ends[0], topic, 300)

    async def run() -> int:
        async with slow_link(DELAY_S, RATE) as link:
            await copy_over(link, flow, topic)
            return link.most_under_way

    # A round trip carries 0.8 MB. With few requests in flight the link would be empty for the most.
    assert asyncio.run(run()) > RATE * DELAY_S / 2
    assert records_of(ends[1], topic) == records_of(ends[0], topic)


@pytest.mark.long
def test_a_link_of_100_kb_a_second_carries_everything_once(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four partitions may have 4 MB each in a transaction, and a write may take 45 s.

    With a budget for all of them transactions are small, and none times out.
    """
    budgets: list[WatchedBudget] = []
    monkeypatch.setattr(assigned_copies, "WriteBudget", partial(WatchedBudget, budgets))
    flow = Flow(*ends, names=Names.IDENTITY)
    for each in ends:
        make_topic(each, topic, 4)
    send(ends[0], topic, 80, 4)
    size = sum(len(value or b"") for _, _, _, value, _ in records_of(ends[0], topic))

    async def run() -> tuple[list[CopyReport], SlowLink]:
        async with slow_link(DELAY_S, SLOW_RATE, LOSS) as link:
            return await copy_over(link, flow, topic, partitions=4), link

    reports, link = asyncio.run(run())
    assert records_of(ends[1], topic) == records_of(ends[0], topic)
    assert [problem for each in reports for problem in each.problems] == []
    assert link.carried < size * 1.2, "something was sent again"
    (budget,) = budgets
    assert budget.is_kept, "more was under way than the budget allows"
    assert budget.most > 2 * BATCH, "the link would be empty for the most"
    assert sum(each.records > 0 for each in reports) >= 3, "it comes in steps, not at the end"


def test_a_link_that_breaks_loses_and_repeats_nothing(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    flow = Flow(*ends, names=Names.IDENTITY, compression="zstd")
    for each in ends:
        make_topic(each, topic)
    send(ends[0], topic, 300)

    async def run() -> None:
        async with slow_link(DELAY_S / 4, RATE / 4) as link:
            await copy_over(link, flow, topic, breaks=2)

    asyncio.run(run())
    assert records_of(ends[1], topic) == records_of(ends[0], topic)
