"""Going, and being sent away."""

import pytest

from barnabas.groups.records import decode_group
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import GroupMetadataValue
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.groups.shell import DELAY_MS, Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


def codes(shell: Shell, token: int) -> list[int]:
    answer = shell.left(token)
    assert answer.error_code == ErrorCode.NONE
    return [member.error_code for member in answer.members]


def test_the_others_take_over(shell: Shell) -> None:
    leader, follower = shell.form(2)
    assert codes(shell, shell.leave(leader)) == [ErrorCode.NONE]
    assert shell.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    answer = shell.joined(shell.join(follower))
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_the_old_way_answers_for_the_one_member(shell: Shell) -> None:
    leader, _ = shell.form(2)
    answer = shell.left(shell.leave(leader, version=2))
    assert (answer.error_code, answer.members) == (ErrorCode.NONE, [])
    assert shell.error(shell.leave(leader, version=2)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_several_members_leave_at_once(shell: Shell) -> None:
    first, second, third = shell.form(3)
    token = shell.leave(first, "unknown", second)
    assert codes(shell, token) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert len(shell.joined(shell.join(third)).members) == 1


def test_when_all_have_left_the_group_is_empty_and_that_is_persisted(shell: Shell) -> None:
    shell.leave(*shell.form(2))
    assert shell.state() == "Empty"
    assert shell.restart().state() == "Empty"
    value = shell.log[-1].value
    assert value is not None
    assert decode_group(value) == GroupMetadataValue(
        "consumer", 2, protocol=None, leader=None, current_state_timestamp=shell.now_ms
    )


def test_who_leaves_while_others_wait_for_it_lets_them_go_on(shell: Shell) -> None:
    leader, follower = shell.form(2)
    token = shell.join(leader)
    shell.leave(follower)
    assert shell.joined(token).generation_id == 2


def test_who_leaves_gets_its_parked_requests_answered(shell: Shell) -> None:
    leader, follower = shell.form(2)
    parked = shell.join(leader)
    shell.leave(leader)
    assert shell.error(parked) == ErrorCode.UNKNOWN_MEMBER_ID
    newcomer = shell.join(version=3)
    shell.leave(follower)
    answer = shell.joined(newcomer)
    parked = shell.sync(answer.member_id, answer.generation_id)  # assigns nothing: it is alone
    assert shell.synced(parked).error_code == ErrorCode.NONE


def test_who_leaves_with_a_parked_sync(shell: Shell) -> None:
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    _, follower = (shell.joined(token).member_id for token in tokens)
    parked = shell.sync(follower, 1)
    shell.leave(follower)
    assert shell.error(parked) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_can_be_given_back_unused(shell: Shell) -> None:
    (leader,) = shell.form(1)
    unused = shell.new_id()
    token = shell.join(leader)
    assert codes(shell, shell.leave(unused)) == [ErrorCode.NONE]
    assert shell.joined(token).generation_id == 2
    assert codes(shell, shell.leave(unused)) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_static_member_is_sent_away_by_its_instance_id(shell: Shell) -> None:
    first, second = shell.form(instances=["one", "two"])
    token = shell.leave(
        MemberIdentity("", "one"), MemberIdentity(first, "two"), MemberIdentity("", "three")
    )
    assert codes(shell, token) == [
        ErrorCode.NONE,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert shell.heartbeat(second, 1, "two") == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.heartbeat(first, 1, "one") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_nobody_knows(shell: Shell) -> None:
    assert codes(shell, shell.leave("c-1")) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert shell.error(shell.leave("c-1", version=1)) == ErrorCode.UNKNOWN_MEMBER_ID
    token = shell.token()
    nameless = LeaveGroupRequest("")
    shell.carry_out(shell.shard.classic.leave_group(nameless, token=token, api_version=5, now_ms=0))
    assert shell.error(token) == ErrorCode.INVALID_GROUP_ID
