"""Committed records are never lost, whatever happens; and if a rule is broken, they are."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.replication import OutOfRange
from tests.replication.model import Answer, Fetch, Model, Node, Violation
from tests.support.tier import examples


@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**32), nodes=st.integers(2, 5))
@example(seed=101355, nodes=2)  # an answer to an earlier fetch comes last
def test_nothing_committed_is_lost(seed: int, nodes: int) -> None:
    model = Model(seed, nodes)
    model.run(600)
    model.settle()
    leader = model.nodes[model.state.leader]
    assert model.committed == leader.records
    assert sorted(model.state.isr) == sorted(model.nodes)
    assert all(node.records == leader.records for node in model.nodes.values())
    assert all(node.high_watermark == len(leader.records) for node in model.nodes.values())


class CommitsByMajority(Model):
    """The high watermark does not wait for all that are in sync."""

    def advance(self, node: Node) -> None:
        assert node.leading is not None
        ends = [p.log_end_offset for p in node.leading.followers.values()] + [len(node.records)]
        ends.sort()
        node.high_watermark = max(node.high_watermark, ends[len(ends) // 2])
        self.check_committed(node)


class ElectsAnybody(Model):
    """Leaders come from outside of the in-sync set."""

    def electable(self) -> list[int]:
        return list(self.nodes)


class ForgetsPending(Model):
    """A follower that is proposed to join is not counted before it has."""

    def advance(self, node: Node) -> None:
        assert node.leading is not None
        maximal = node.leading._maximal_isr
        node.leading._maximal_isr = frozenset(node.leading.isr)
        for progress in node.leading.followers.values():
            progress.caught_up_ms = -(2**62)
        super().advance(node)
        node.leading._maximal_isr = maximal


class TruncatesToHighWatermark(Model):
    """As it was before there were epochs: followers cut what they do not know to be committed."""

    def learn(self, node: Node) -> None:
        before = node.known.leader_epoch
        super().learn(node)
        if node.known.leader_epoch != before and node.leading is None:
            node.truncate_to(node.high_watermark)


class NeverTruncates(Model):
    """A follower goes on behind what its leader never had."""

    def handle_fetch(self, fetch: Fetch) -> None:
        super().handle_fetch(
            Fetch(
                fetch.follower,
                fetch.leader,
                fetch.broker_epoch,
                fetch.leader_epoch,
                fetch.offset,
                -1,
            )
        )


class AcknowledgesWhileDiverging(Model):
    """A fetch counts though the follower's log has left the leader's path."""

    def handle_fetch(self, fetch: Fetch) -> None:
        leading = self.nodes[fetch.leader].leading
        end = len(self.nodes[fetch.leader].records)
        if leading is not None and leading.leader_epoch == fetch.leader_epoch:
            offset = min(fetch.offset, end)
            leading.fetched(fetch.follower, fetch.broker_epoch, offset, 0, end, self.now_ms)
        super().handle_fetch(fetch)


class TrustsAnyTail(Model):
    """A node that lost the end of its log stays in the in-sync set."""

    def restart(self, node: Node, *, keeps: int) -> None:
        node.truncate_to(keeps)
        super().restart(node, keeps=len(node.records))


class AnswersOutOfTurn(Model):
    """A follower takes answers to what it asked an earlier leader."""

    def handle_answer(self, answer: Answer) -> None:
        node = self.nodes[answer.to.follower]
        if node.leading is None and answer.diverging is None:
            for record in answer.records:
                node.append(record)


@pytest.mark.parametrize(
    "broken",
    [
        CommitsByMajority,
        ElectsAnybody,
        ForgetsPending,
        TruncatesToHighWatermark,
        NeverTruncates,
        AcknowledgesWhileDiverging,
        TrustsAnyTail,
        AnswersOutOfTurn,
    ],
)
def test_a_broken_rule_is_noticed(broken: type[Model]) -> None:
    for seed in range(400):
        try:
            broken(seed).run(600)
        except (Violation, OutOfRange):
            return
    pytest.fail(f"{broken.__name__} was not noticed in 400 runs")
