"""A producer commits offsets in transactions while the leadership of their partition wanders.

One transaction after the other commits its own number for a group, and is then committed or
aborted, wherever it is accepted: markers are appended by each leader, and again by the next
leader if they are lost. Whatever moves when, an aborted number never shows, a committed one shows
once its marker is there, and in the end nothing is left open. Every run is decided by its seed.
"""

import asyncio
from asyncio import Future, sleep
from random import Random
from typing import Any

import pytest

from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.decode import iter_batches
from barnabas.wire.errors import ErrorCode
from tests.broker.coordinator.test_group_coordinator import Stage, error_of
from tests.broker.coordinator.test_transactional_groups import end, is_stable, txn_commit
from tests.broker.fake_partition import FakePartition

STEPS = 300


class Term:
    """One leader of the partition, and what it has been asked."""

    def __init__(self, epoch: int, batches: list[bytearray], high_watermark: int) -> None:
        self.stage = Stage()
        self.partition = FakePartition(leader_epoch=epoch)
        self.partition.commits_at_once = False
        for batch in batches:
            header = parse_header(batch)
            self.partition.log.append(memoryview(batch), [(0, header)], epoch, 0)
        self.partition.commit(high_watermark)
        self.stage.groups.leader_changed(self.partition)

    def batches(self) -> list[tuple[BatchHeader, bytearray]]:
        log = self.partition.log
        if log.log_end_offset == 0:
            return []
        return [
            (header, bytearray(batch))
            for header, batch in iter_batches(log.read(0, 1 << 20, upto_offset=log.log_end_offset))
        ]


class Cluster:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.terms = [Term(1, [], 0)]
        self.number = 1
        self.answer: Future[Any] | None = None
        self.is_ending = False
        self.is_commit = False
        self.shown = -1
        """The number of the last transaction that was committed."""
        self.outcomes = {True: 0, False: 0}

    @property
    def current(self) -> Term:
        return self.terms[-1]

    # -- what happens to the partition -------------------------------------------------------------

    def elect(self) -> None:
        """The next leader has all that is committed, and perhaps more."""
        former = self.current
        high_watermark = former.partition.high_watermark
        batches = former.batches()
        committed = sum(header.next_offset <= high_watermark for header, _ in batches)
        kept = self.random.randint(committed, len(batches))
        self.terms.append(
            Term(len(self.terms) + 1, [batch for _, batch in batches[:kept]], high_watermark)
        )

    def find_out(self) -> None:
        """A former leader hears that it leads no more, and its coordinator later still."""
        former = self.random.choice(self.terms)
        if former is not self.current:
            if former.partition.is_leader:
                former.partition.follow()
            else:
                former.stage.groups.leader_changed(former.partition)

    def replicate(self) -> None:
        partition = self.current.partition
        ends = [header.next_offset for header, _ in self.current.batches()]
        later = [offset for offset in ends if offset > partition.high_watermark]
        if later:
            partition.commit(self.random.choice(later))

    # -- what the producer and the coordinator of its transaction do -------------------------------

    def go_on(self) -> None:
        if self.is_ending:
            self.write_marker()
        elif self.answer is None:
            term = self.random.choice(self.terms[-2:])
            if term.stage.refusal() is ErrorCode.NONE:
                self.answer = txn_commit(term.stage, self.number)
        elif self.answer.done():
            is_taken = error_of(self.answer) is ErrorCode.NONE
            self.answer = None
            self.decide(is_commit=is_taken and self.random.random() < 0.6)
        elif self.random.random() < 0.2:
            self.answer = None  # it waits no longer
            self.decide(is_commit=False)

    def decide(self, *, is_commit: bool) -> None:
        self.is_ending, self.is_commit = True, is_commit

    def write_marker(self) -> None:
        """Until it is committed; what was appended and lost is appended again."""
        partition = self.current.partition
        batches = [header for header, _ in self.current.batches()]
        if batches and batches[-1].is_control:
            if batches[-1].next_offset <= partition.high_watermark:
                self.ended()
        else:
            end(self.current.stage, partition, is_commit=self.is_commit)

    def ended(self) -> None:
        if self.is_commit:
            self.shown = self.number
        self.outcomes[self.is_commit] += 1
        self.is_ending = False
        self.number += 1

    # -- what must be true -------------------------------------------------------------------------

    def look(self) -> None:
        stage = self.current.stage
        if stage.refusal() is not ErrorCode.NONE:
            return
        shown = stage.committed()
        if shown != self.shown:
            # The marker is committed, and its writer has not looked yet.
            assert self.is_ending
            assert (shown, self.is_commit) == (self.number, True)
        elif self.is_ending and self.is_commit:
            assert not is_stable(stage), "what is decided may show any moment"

    async def settle(self) -> None:
        for _ in range(20):
            await sleep(0)


@pytest.mark.parametrize("seed", range(20))
def test_transactions_on_a_partition_that_wanders(seed: int) -> None:
    async def run() -> None:
        cluster = Cluster(seed)
        steps = [cluster.elect, cluster.find_out, cluster.replicate, cluster.go_on]
        for _ in range(STEPS):
            (step,) = cluster.random.choices(steps, [1, 2, 6, 12])
            step()
            for _ in range(cluster.random.randint(1, 6)):  # who waits for a commit needs one
                await sleep(0)
            cluster.look()
        if not cluster.is_ending:
            cluster.decide(is_commit=False)
        while cluster.is_ending:
            cluster.go_on()
            cluster.current.partition.commit()
            await cluster.settle()
        stage = cluster.current.stage
        assert (stage.committed(), is_stable(stage)) == (cluster.shown, True)
        assert min(cluster.outcomes.values()) > 0
        assert len(cluster.terms) > 5
        for term in cluster.terms:
            term.stage.groups.close()

    asyncio.run(run())
