"""Fetches that wait, and share partitions that end while they are loaded."""

from asyncio import sleep

import pytest

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.node import Node
from barnabas.broker.share.state_calls import Done
from barnabas.wire.errors import ErrorCode
from tests.broker.share.share_client import Member, acquired, begin, loaded, produce, run


def test_a_fetch_that_wants_much_does_not_hold_up_others(local_node: Node) -> None:
    begin(local_node, "greedy", 0)
    greedy, none, modest = (Member(local_node, "greedy", each) for each in "abc")
    for member in (greedy, none, modest):
        loaded(member, 0)
    waits = [
        greedy.start_fetch(max_wait_ms=30_000, min_bytes=1 << 30),
        none.start_fetch(max_wait_ms=30_000, max_records=0),
    ]
    waiting = modest.start_fetch(max_wait_ms=20_000)
    for _ in range(2):
        first = produce(local_node, b"a")
        assert acquired(modest.answer(waiting)) == [(first, first, 1)]
        waiting = modest.start_fetch(max_wait_ms=20_000)
    assert not any(wait.done() for wait in waits)
    for member in (greedy, none, modest):
        member.disconnect()


def test_a_fetch_that_wants_much_learns_of_errors(local_node: Node) -> None:
    begin(local_node, "much", 0)
    member = Member(local_node, "much")
    response = member.fetch(0, 7, max_wait_ms=30_000, min_bytes=1 << 20)
    errors = {
        data.partition_index: data.error_code
        for topic in response.responses
        for data in topic.partitions
    }
    assert errors == {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    member.disconnect()


def test_a_partition_ends_whose_group_left_while_it_was_loaded(local_node: Node) -> None:
    begin(local_node, "hasty", 0)
    member = Member(local_node, "hasty")
    member.start_fetch(0, max_wait_ms=30_000)
    (led,) = local_node.share_partitions.of_group("hasty")
    member.disconnect()

    async def loaded() -> None:
        await led.loading

    run(local_node, loaded())
    assert not local_node.share_partitions.of_group("hasty")


def test_a_partition_may_end_before_its_start_is_stored(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(local_node, "ended", 0)
    writes: list[Done] = []
    monkeypatch.setattr(local_node.share_states, "write", lambda *args: writes.append(args[-1]))
    member = Member(local_node, "ended")
    member.start_fetch(0, max_wait_ms=30_000)
    (led,) = local_node.share_partitions.of_group("ended")

    async def writing() -> None:
        while not writes:
            await sleep(0.001)
        led.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        while not led.loading.done():
            await sleep(0.001)

    run(local_node, writing())
    for done in writes:
        done(ErrorCode.NONE)  # an exception would keep other writes from being heard of
    assert led.loading.cancelled()
    member.disconnect()


@pytest.mark.parametrize("min_bytes", [1, 2])
def test_a_fetch_that_is_woken_on_a_node_that_is_cut_off_gets_nothing(
    local_node: Node, monkeypatch: pytest.MonkeyPatch, min_bytes: int
) -> None:
    """Another node may lead by now, and what is released here may be accepted there."""
    group_id = f"replaced-{min_bytes}"
    begin(local_node, group_id, 0)
    member, other = (Member(local_node, group_id, each) for each in "ab")
    for each in (member, other):
        loaded(each, 0)
    first = produce(local_node, b"a")
    assert acquired(other.fetch(max_wait_ms=20_000)) == [(first, first, 1)]
    waiting = member.start_fetch(max_wait_ms=20_000, min_bytes=min_bytes)
    with monkeypatch.context() as patched:
        patched.setattr(BrokerLifecycle, "is_cut_off", True)
        other.disconnect()
        response = member.answer(waiting)
    assert acquired(response) == []
    (data,) = response.responses[0].partitions
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert acquired(member.fetch()) == [(first, first, 2)]
    member.disconnect()


def test_a_fetch_whose_session_has_ended_locks_nothing(local_node: Node) -> None:
    """It may wait on another connection than the one with which the session ends."""
    begin(local_node, "unheld", 0)
    member, other = (Member(local_node, "unheld", each) for each in "ab")
    for each in (member, other):
        loaded(each, 0)
    waiting = member.start_fetch(max_wait_ms=20_000)
    member.leave()
    first = produce(local_node, b"a")
    assert member.answer(waiting).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acquired(other.fetch()) == [(first, first, 1)]
    other.disconnect()
