"""Joining, staying in and leaving a consumer group."""

import pytest

from barnabas.groups.config import ConsumerGroupConfig, GroupConfig, ModernGroupSettings
from barnabas.groups.names import MAX_SUBSCRIBED_TOPICS
from barnabas.wire.errors import ErrorCode
from tests.groups.consumer.shell import REBALANCE_TIMEOUT_MS, ConsumerShell
from tests.groups.fake_topics import FakeTopics

SESSION_MS = 45_000


@pytest.fixture
def shell() -> ConsumerShell:
    return ConsumerShell(topics=FakeTopics(t=4))


def two_members(shell: ConsumerShell) -> None:
    """Members a and b with two partitions each."""
    assert shell.assigned(shell.join_group("a")) == {"t": [0, 1, 2, 3]}
    shell.advance(1_000)
    assert shell.assigned(shell.join_group("b")) == {}
    first = shell.beaten(shell.beat("a", 1, owned={"t": [0, 1, 2, 3]}))
    assert (first.member_epoch, shell.assigned(first)) == (1, {"t": [0, 1]})
    assert shell.beaten(shell.beat("a", 1, owned={"t": [0, 1]})).member_epoch == 2
    assert shell.assigned(shell.beaten(shell.beat("b", 2, owned={}))) == {"t": [2, 3]}
    assert shell.described().group_state == "Stable"


def test_the_first_member_gets_everything_at_once(shell: ConsumerShell) -> None:
    answer = shell.join_group("a")
    assert (answer.member_id, answer.member_epoch) == ("a", 1)
    assert answer.heartbeat_interval_ms == 5_000
    assert shell.assigned(answer) == {"t": [0, 1, 2, 3]}


def test_partitions_move_when_their_owner_has_given_them_up(shell: ConsumerShell) -> None:
    two_members(shell)


def test_a_quiet_heartbeat_writes_nothing(shell: ConsumerShell) -> None:
    two_members(shell)
    records = len(shell.log)
    answer = shell.beaten(shell.beat("a", 2))
    assert (answer.member_epoch, answer.assignment) == (2, None)
    assert len(shell.log) == records


def test_an_answer_waits_until_it_is_persisted(shell: ConsumerShell) -> None:
    shell.persists_at_once = False
    token = shell.beat("a", topics=["t"], owned={}, rebalance_ms=1_000)
    again = shell.beat("a", topics=["t"], owned={}, rebalance_ms=1_000)
    assert not shell.answers
    shell.persist_next()
    assert shell.beaten(token).member_epoch == shell.beaten(again).member_epoch == 1


def test_a_failed_decision_is_taken_back(shell: ConsumerShell) -> None:
    shell.persists_at_once = False
    token = shell.beat("a", topics=["t"], owned={}, rebalance_ms=1_000)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.shard.list_groups() == []
    assert shell.error(shell.beat("a", 1)) == ErrorCode.GROUP_ID_NOT_FOUND


def test_members_keep_what_they_have_after_a_restart(shell: ConsumerShell) -> None:
    two_members(shell)
    before = shell.described()
    shell = shell.restart()
    assert shell.described() == before
    assert shell.beaten(shell.beat("a", 2)).member_epoch == 2
    full = shell.beat("b", 2, topics=["t"], owned={"t": [2, 3]}, rebalance_ms=1_000)
    assert shell.assigned(shell.beaten(full)) == {"t": [2, 3]}


def test_a_new_coordinator_tells_what_a_lost_answer_has_said(shell: ConsumerShell) -> None:
    """The former one has persisted that partitions move, and its answer has not arrived."""
    shell.join_group("a")
    shell.advance(1_000)
    shell.join_group("b")
    shell.beat("a", 1)
    shell = shell.restart()
    answer = shell.beaten(shell.beat("a", 1))
    assert (answer.member_epoch, shell.assigned(answer)) == (1, {"t": [0, 1]})
    assert shell.beaten(shell.beat("a", 1)).assignment is None, "once is enough"
    assert shell.beaten(shell.beat("a", 1, owned={"t": [0, 1]})).member_epoch == 2
    shell.beat("b", 2)
    shell = shell.restart()
    assert shell.assigned(shell.beaten(shell.beat("b", 2))) == {"t": [2, 3]}


def test_an_answer_that_failed_is_given_again(shell: ConsumerShell) -> None:
    two_members(shell)
    shell.advance(1_000)
    shell.beat("b", -1)
    shell.persists_at_once = False
    token = shell.beat("a", 2)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shell.persists_at_once = True
    assert shell.assigned(shell.beaten(shell.beat("a", 2))) == {"t": [0, 1, 2, 3]}


def test_partitions_of_a_member_that_left_go_to_the_others(shell: ConsumerShell) -> None:
    two_members(shell)
    shell.advance(1_000)
    assert shell.beaten(shell.beat("b", -1)).member_epoch == -1
    assert shell.assigned(shell.beaten(shell.beat("a", 2))) == {"t": [0, 1, 2, 3]}


def test_a_silent_member_is_removed(shell: ConsumerShell) -> None:
    two_members(shell)
    for _ in range(9):
        shell.advance(SESSION_MS // 9)
        answer = shell.beaten(shell.beat("a", 2))
    assert shell.assigned(answer) == {"t": [0, 1, 2, 3]}
    assert shell.error(shell.beat("b", 2)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_does_not_give_up_partitions_in_time_is_removed(
    shell: ConsumerShell,
) -> None:
    shell.join_group("a")
    shell.advance(1_000)
    shell.join_group("b")
    shell.beat("a", 1, owned={"t": [0, 1, 2, 3]})
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000 - 1):
        shell.advance(5_000)
        assert shell.error(shell.beat("a", 1)) == ErrorCode.NONE
        assert shell.error(shell.beat("b", 2)) == ErrorCode.NONE
    shell.advance(5_000)
    assert shell.error(shell.beat("a", 1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.assigned(shell.beaten(shell.beat("b", 2))) == {"t": [0, 1, 2, 3]}


@pytest.mark.parametrize("epoch", [1, 3, 2**31 - 1])
def test_another_epoch_is_fenced(shell: ConsumerShell, epoch: int) -> None:
    two_members(shell)
    owned = {"t": [0, 1, 2]}
    assert shell.error(shell.beat("a", epoch, owned=owned)) == ErrorCode.FENCED_MEMBER_EPOCH


def test_the_former_epoch_is_accepted_if_the_answer_got_lost(shell: ConsumerShell) -> None:
    two_members(shell)
    answer = shell.beaten(shell.beat("a", 1, owned={"t": [0]}))
    assert (answer.member_epoch, shell.assigned(answer)) == (2, {"t": [0, 1]})
    assert shell.error(shell.beat("a", 1)) == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_may_join_again(shell: ConsumerShell) -> None:
    two_members(shell)
    answer = shell.join_group("a")
    assert (answer.member_epoch, shell.assigned(answer)) == (2, {"t": [0, 1]})


def test_strangers(shell: ConsumerShell) -> None:
    assert shell.error(shell.beat("a", 1)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert shell.error(shell.beat("a", -1)) == ErrorCode.GROUP_ID_NOT_FOUND
    two_members(shell)
    assert shell.error(shell.beat("z", 2)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.error(shell.beat("z", -1)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_invalid_requests(shell: ConsumerShell) -> None:
    join = {"topics": ["t"], "owned": {}, "rebalance_ms": 1_000}
    for options in (
        {**join, "group": ""},
        {**join, "instance": ""},
        {**join, "owned": {"t": [0]}},
        {**join, "owned": None},
        {**join, "topics": None},
        {**join, "rebalance_ms": -1},
        {**join, "epoch": -3},
        {**join, "epoch": -2},
        {**join, "member_id": ""},
    ):
        token = shell.beat(**{"member_id": "a", **options})  # type: ignore[arg-type]
        assert shell.error(token) == ErrorCode.INVALID_REQUEST, options
    token = shell.beat("a", **join, assignor="sticky")  # type: ignore[arg-type]
    assert shell.error(token) == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert shell.log == []


def test_version_0_gives_out_member_ids(shell: ConsumerShell) -> None:
    assert shell.join_group("", version=0).member_id == "new"


def test_the_group_is_full(shell: ConsumerShell) -> None:
    config = GroupConfig(consumer=ConsumerGroupConfig(max_size=1))
    shell = ConsumerShell(config, topics=FakeTopics(t=1))
    shell.join_group("a")
    assert shell.join_group("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shell.join_group("a").error_code == ErrorCode.NONE


def test_new_partitions_and_topics_are_assigned(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=["t", "later"])
    shell.advance(1_000)
    shell.topics.grow("t", 5)
    assert shell.assigned(shell.beaten(shell.beat("a", 1))) == {"t": [0, 1, 2, 3, 4]}
    shell.advance(1_000)
    shell.topics.create("later", 1)
    answer = shell.beaten(shell.beat("a", 2))
    assert shell.assigned(answer) == {"t": [0, 1, 2, 3, 4], "later": [0]}


def test_a_change_that_happened_without_a_coordinator_is_seen(shell: ConsumerShell) -> None:
    shell.join_group("a")
    shell.topics.grow("t", 5)
    shell = shell.restart()
    shell.advance(1_000)
    assert shell.assigned(shell.beaten(shell.beat("a", 1))) == {"t": [0, 1, 2, 3, 4]}


def test_unsubscribing_takes_effect_at_once(shell: ConsumerShell) -> None:
    shell.topics.create("u", 2)
    shell.join_group("a", topics=["t", "u"])
    owned = {"t": [0, 1, 2, 3], "u": [0, 1]}
    answer = shell.beaten(shell.beat("a", 1, topics=["u"], owned=owned))
    assert shell.assigned(answer) == {"u": [0, 1]}


def test_assignments_are_made_once_per_interval(shell: ConsumerShell) -> None:
    shell.join_group("a")
    waiting = shell.join_group("b")
    assert shell.described().group_state == "Assigning"
    assert waiting.heartbeat_interval_ms == 1_000
    shell.advance(1_000)
    assert shell.assigned(shell.beaten(shell.beat("a", 1, owned={"t": [0, 1, 2, 3]}))) == {
        "t": [0, 1]
    }


def test_without_an_interval_assignments_are_made_at_once() -> None:
    settings = ModernGroupSettings(assignment_interval_ms=0)
    config = GroupConfig(consumer=ConsumerGroupConfig(settings=settings))
    shell = ConsumerShell(config, topics=FakeTopics(t=2))
    shell.join_group("a")
    shell.join_group("b")
    assert shell.described().group_state == "Reconciling"


def test_the_assignor_that_most_members_ask_for(shell: ConsumerShell) -> None:
    shell.join_group("a")
    assert shell.described().assignor_name == "uniform"
    shell.join_group("b", assignor="range")
    assert shell.described().assignor_name == "range"


def test_a_subscription_is_limited(shell: ConsumerShell) -> None:
    names = [str(number) for number in range(MAX_SUBSCRIBED_TOPICS + 1)]
    token = shell.beat("a", topics=names, owned={}, rebalance_ms=1_000)
    answer = shell.beaten(token)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert str(MAX_SUBSCRIBED_TOPICS) in (answer.error_message or "")
