"""A partition of `__consumer_offsets` whose leadership wanders, every run decided by its seed.

One group commits the numbers 1, 2, 3 ... wherever they are accepted. Each term has a partition
and a coordinator of its own; a former leader finds out late that it leads no more, and its
coordinator later still.
"""

import asyncio
from asyncio import Future, sleep
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from barnabas.broker.coordinator.stored_records import stored_records
from barnabas.coordination.decision import CoordinatorRecord
from barnabas.groups.records import decode_offset
from barnabas.wire.errors import ErrorCode
from tests.broker.coordinator.test_group_coordinator import Stage, error_of
from tests.broker.fake_partition import FakePartition

_REFUSALS = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


@dataclass(eq=False)
class Term:
    stage: Stage
    partition: FakePartition
    asked: dict[int, "Future[Any]"] = field(default_factory=dict)


class Cluster:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.terms: list[Term] = []
        self.next_number = 1
        self.acknowledged = 0
        self.served = 0
        self.begin_term([])

    @property
    def current(self) -> Term:
        return self.terms[-1]

    def begin_term(self, records: list[CoordinatorRecord]) -> None:
        partition = FakePartition(leader_epoch=len(self.terms) + 1)
        partition.commits_at_once = False
        for record in records:
            partition.store(record)
        partition.commit(self.current.partition.high_watermark if self.terms else 0)
        term = Term(Stage(), partition)
        term.stage.groups.leader_changed(partition)
        self.terms.append(term)

    def elect(self) -> None:
        """The next leader has all that is committed, and perhaps more."""
        partition = self.current.partition
        end = self.random.randint(partition.high_watermark, partition.log.log_end_offset)
        records = stored_records(partition.log)
        self.begin_term(
            [
                CoordinatorRecord(each.key or b"", each.value)
                for each in records
                if each.offset < end
            ]
        )

    def find_out(self) -> None:
        former = self.random.choice(self.terms)
        if former is not self.current:
            if former.partition.is_leader:
                former.partition.follow()
            else:
                former.stage.groups.leader_changed(former.partition)

    def replicate(self) -> None:
        partition = self.current.partition
        end = self.random.randint(partition.high_watermark, partition.log.log_end_offset)
        partition.commit(end)

    def ask(self) -> None:
        term = self.random.choice(self.terms[-3:])
        refusal = term.stage.refusal()
        if refusal is not ErrorCode.NONE:
            assert refusal in _REFUSALS
            return
        self.served += 1
        shown = max(term.stage.committed(), 0)
        assert shown <= self.committed(term.partition), "what may be lost was shown"
        if term is self.current:
            assert shown >= self.acknowledged, "an acknowledged commit is not shown"
        term.asked[self.next_number] = term.stage.commit(self.next_number)
        self.next_number += 1

    def committed(self, partition: FakePartition) -> int:
        numbers = [
            decode_offset(record.value or b"").offset
            for record in stored_records(partition.log)
            if record.offset < partition.high_watermark
        ]
        return max(numbers, default=0)

    def look(self) -> None:
        for term in self.terms:
            for number, answer in list(term.asked.items()):
                if answer.done():
                    del term.asked[number]
                    error = error_of(answer)
                    if error is ErrorCode.NONE:
                        assert number <= self.committed(self.current.partition), "it is lost"
                        self.acknowledged = max(self.acknowledged, number)
                    else:
                        assert error in _REFUSALS


@pytest.mark.parametrize("seed", range(25))
def test_a_partition_that_wanders(seed: int) -> None:
    async def run() -> None:
        cluster = Cluster(seed)
        random = cluster.random
        for _ in range(300):
            step = random.choices(
                [cluster.ask, cluster.replicate, cluster.find_out, cluster.elect], [6, 6, 3, 1]
            )
            step[0]()
            if random.random() < 0.7:
                await sleep(0)
            cluster.look()
        for term in cluster.terms:
            term.stage.groups.close()
            assert all(answer.done() for answer in term.asked.values()), "a request has no answer"
        cluster.look()
        assert len(cluster.terms) > 5
        assert cluster.served > 20
        assert cluster.acknowledged > 0

    asyncio.run(run())
