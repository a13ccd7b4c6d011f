"""Members of consumer groups whose connections broke, and that did not come back."""

import pytest

from barnabas.wire.errors import ErrorCode
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics
from tests.groups.shell import GROUP, Shell


def disconnect(shell: Shell, member_id: str) -> None:
    shell.carry_out(shell.shard.disconnected(GROUP, member_id, shell.now_ms))


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
def modern() -> ConsumerShell:
    shell = ConsumerShell(topics=FakeTopics(t=2))
    shell.join_group("a")
    return shell


def test_the_others_take_over_at_once(shell: Shell) -> None:
    leader, follower = shell.form(2)
    disconnect(shell, leader)
    assert shell.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    answer = shell.joined(shell.join(follower))
    assert (answer.generation_id, answer.leader) == (2, follower)
    assert shell.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_does_not_wait_for_a_member_that_had_joined_before_it_was_killed(
    shell: Shell,
) -> None:
    leader, follower = shell.form(2)
    shell.join(leader, protocols=[("range", b"other")])  # parked: the rebalance waits for both
    disconnect(shell, leader)
    answer = shell.joined(shell.join(follower))
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_a_static_member_is_expected_back(shell: Shell) -> None:
    first, second = shell.form(instances=["x", "y"])
    disconnect(shell, first)
    assert shell.heartbeat(second, 1) == ErrorCode.NONE


def test_who_is_no_member_any_more_is_nothing_to_anybody(
    shell: Shell, modern: ConsumerShell
) -> None:
    (member,) = shell.form(1)
    shell.leave(member)
    for each in (shell, modern):
        disconnect(each, member)
        disconnect(each, "unknown")
    assert shell.state() == "Empty"
    assert [each.member_id for each in modern.described().members] == ["a"]


def test_a_member_of_the_consumer_protocol_is_removed(modern: ConsumerShell) -> None:
    modern.join_group("b")
    disconnect(modern, "a")
    assert [each.member_id for each in modern.described().members] == ["b"]
    modern.advance(1_000)
    epoch = modern.described().members[0].member_epoch
    assert modern.assigned(modern.beaten(modern.beat("b", epoch))) == {"t": [0, 1]}


def test_a_static_member_of_the_consumer_protocol_is_expected_back(modern: ConsumerShell) -> None:
    modern.join_group("b", instance="b")
    disconnect(modern, "b")
    assert [each.member_id for each in modern.described().members] == ["a", "b"]
