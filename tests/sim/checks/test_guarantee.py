"""When the simulator reports that no replica has everything committed, and when it must not."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.sim.checks.guarantee import Guarantee, Key
from barnabas.sim.checks.history import Violation

TOPIC = bytes(16)
KEY = (TOPIC, 0)


def _node(offset: int, node_id: int, life: str, isr: list[int], lives: dict[int, str]) -> Any:
    """A node as far as the guarantee looks at it, with the brokers that are let in."""
    partition = SimpleNamespace(index=0, isr=isr, elr=[], partition_epoch=offset)
    topic = SimpleNamespace(topic_id=TOPIC, name="t", partitions=[partition] if isr else [])
    brokers = {
        each: SimpleNamespace(id=each, incarnation_id=name.encode(), fenced=False)
        for each, name in lives.items()
    }
    return SimpleNamespace(
        node_id=node_id,
        _incarnation_id=life.encode(),
        quorum=SimpleNamespace(end_offset=offset),
        image=SimpleNamespace(brokers=brokers, topics={"t": topic}, topics_by_id={TOPIC: topic}),
    )


def _after_losses(*, committed: set[Key]) -> Guarantee:
    """Nodes 1 and 2 lose their data when no partition has replicas on them."""
    guarantee = Guarantee(committed.__contains__)
    lives = {1: "a", 2: "b"}
    guarantee.learn(_node(1, 1, "a", [], lives))
    guarantee.learn(_node(1, 2, "b", [], lives))
    for node_id in lives:
        assert guarantee.may_lose(node_id)
        guarantee.loses(node_id)
    return guarantee


def test_what_was_committed_is_somewhere() -> None:
    guarantee = _after_losses(committed={KEY})
    with pytest.raises(Violation, match="none has everything"):
        guarantee.learn(_node(2, 1, "a", [1, 2], {1: "a", 2: "b"}))


def test_a_new_partition_has_nothing_to_lose_and_may_wait_for_an_operator() -> None:
    guarantee = _after_losses(committed=set())
    guarantee.learn(_node(2, 1, "a", [1, 2], {1: "a", 2: "b"}))
    assert guarantee.waiting == {KEY}


def test_a_node_that_was_let_in_after_the_loss_counts() -> None:
    guarantee = _after_losses(committed={KEY})
    guarantee.learn(_node(2, 1, "a", [1, 2], {1: "c", 2: "b"}))
    assert not guarantee.waiting
    assert guarantee.may_lose(2)
    assert not guarantee.may_lose(1)


class _Flipped:
    is_there = True


def test_while_something_has_rotted_a_third_replica_is_needed() -> None:
    guarantee = Guarantee({KEY}.__contains__)
    guarantee.learn(_node(1, 1, "a", [1, 2, 3], {1: "a", 2: "b", 3: "c"}))
    assert guarantee.may_rot(1, KEY)
    rot: Any = _Flipped()
    guarantee.rots(1, KEY, rot)
    assert guarantee.is_rotten(1, KEY)
    assert not guarantee.is_rotten(2, KEY)
    assert not guarantee.may_lose(1)
    assert guarantee.may_lose(2)
    assert not guarantee.may_rot(2, KEY)
    guarantee.loses(3)
    assert not guarantee.may_lose(2)
    rot.is_there = False
    assert all(map(guarantee.may_lose, (1, 2, 3)))


def test_the_only_intact_replica_does_not_rot() -> None:
    guarantee = Guarantee({KEY}.__contains__)
    guarantee.learn(_node(1, 1, "a", [1], {1: "a", 2: "b"}))
    assert not guarantee.may_rot(1, KEY)


@pytest.mark.parametrize("committed", [set(), {KEY}])
def test_after_a_blackout_only_what_has_no_record_yet_may_wait(committed: set[Key]) -> None:
    guarantee = Guarantee(committed.__contains__)
    guarantee.learn(_node(1, 1, "a", [1, 2], {1: "a", 2: "b"}))
    guarantee.all_lose_power()
    assert guarantee.waiting == {KEY} - committed
