"""Static members: their partitions wait for the next instance."""

import pytest

from barnabas.wire.errors import ErrorCode
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics


@pytest.fixture
def shell() -> ConsumerShell:
    shell = ConsumerShell(topics=FakeTopics(t=2))
    shell.join_group("a1", instance="a")
    return shell


def test_a_member_that_left_for_a_while_returns_under_another_id(shell: ConsumerShell) -> None:
    assert shell.beaten(shell.beat("a1", -2, instance="a")).member_epoch == -2
    epoch = shell.described().group_epoch
    answer = shell.join_group("a2", instance="a")
    assert (answer.member_epoch, shell.assigned(answer)) == (1, {"t": [0, 1]})
    assert shell.described().group_epoch == epoch
    assert [member.member_id for member in shell.described().members] == ["a2"]
    assert shell.error(shell.beat("a1", 1, instance="a")) == ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_that_has_not_left_keeps_its_id(shell: ConsumerShell) -> None:
    answer = shell.join_group("a2", instance="a")
    assert answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert shell.error(shell.beat("a1", 1, instance="a")) == ErrorCode.NONE


def test_its_partitions_are_not_given_away_meanwhile(shell: ConsumerShell) -> None:
    shell.beat("a1", -2, instance="a")
    shell = shell.restart()
    shell.advance(1_000)
    assert shell.assigned(shell.join_group("b")) == {}


def test_who_does_not_return_is_removed(shell: ConsumerShell) -> None:
    shell.beat("a1", -2, instance="a")
    shell.advance(44_000)
    shell.join_group("b")
    shell.advance(1_000)
    assert shell.assigned(shell.beaten(shell.beat("b", 2))) == {"t": [0, 1]}


def test_leaving_for_good(shell: ConsumerShell) -> None:
    assert shell.beaten(shell.beat("a1", -1, instance="a")).member_epoch == -1
    assert shell.described().members == []


def test_an_unknown_instance(shell: ConsumerShell) -> None:
    assert shell.error(shell.beat("a1", 1, instance="z")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.error(shell.beat("a1", -2, instance="z")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.error(shell.beat("z", -2, instance="a")) == ErrorCode.FENCED_INSTANCE_ID
