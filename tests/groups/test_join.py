"""Becoming a member: ids, protocols, limits, the initial delay."""

import pytest

from barnabas.groups import GroupConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from tests.groups.shell import DELAY_MS, RANGE, REBALANCE_MS, SESSION_MS, Shell, subscription

META = subscription("t")


@pytest.fixture
def shell() -> Shell:
    return Shell()


def test_from_version_4_on_an_id_is_given_out_first(shell: Shell) -> None:
    member_id = shell.new_id(version=4)
    assert member_id.startswith("c-")
    token = shell.join(member_id, version=4)
    shell.advance(DELAY_MS)
    answer = shell.joined(token)
    assert (answer.error_code, answer.generation_id, answer.member_id) == (0, 1, member_id)
    assert (answer.leader, answer.protocol_name) == (member_id, "range")
    assert answer.protocol_type == "consumer"
    assert [(m.member_id, m.metadata) for m in answer.members] == [(member_id, META)]


def test_before_version_4_the_first_join_counts(shell: Shell) -> None:
    token = shell.join(version=3)
    shell.advance(DELAY_MS)
    assert shell.joined(token).generation_id == 1


def test_only_the_leader_learns_who_is_there(shell: Shell) -> None:
    first, second = shell.join(version=3), shell.join(version=3)
    shell.advance(2 * DELAY_MS)
    leader, follower = shell.joined(first), shell.joined(second)
    assert leader.leader == follower.leader == leader.member_id
    assert {m.member_id for m in leader.members} == {leader.member_id, follower.member_id}
    assert follower.members == []


def test_version_0_knows_one_timeout_only(shell: Shell) -> None:
    first = shell.join(version=0, rebalance_ms=-1)
    shell.advance(DELAY_MS)
    member_id = shell.joined(first).member_id
    shell.assign([member_id], 1)
    second = shell.join(version=0, rebalance_ms=-1)
    shell.advance(SESSION_MS // 2)
    assert shell.heartbeat(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.advance(SESSION_MS // 2 - 1)
    assert second not in shell.answers
    shell.advance(1)
    assert shell.joined(second).generation_id == 2


def test_the_initial_delay_starts_again_while_members_arrive(shell: Shell) -> None:
    first = shell.join(version=3)
    for _ in range(5):
        shell.advance(DELAY_MS - 1)
        shell.join(version=3)
    assert first not in shell.answers
    shell.advance(2 * DELAY_MS)
    assert len(shell.joined(first).members) == 6


def test_the_initial_delay_ends_with_the_rebalance_timeout(shell: Shell) -> None:
    first = shell.join(version=3, rebalance_ms=3 * DELAY_MS)
    for _ in range(3):
        shell.join(version=3, rebalance_ms=3 * DELAY_MS)
        shell.advance(DELAY_MS)
    assert shell.joined(first).error_code == 0


def test_without_an_initial_delay_the_first_member_does_not_wait() -> None:
    shell = Shell(GroupConfig(group_initial_rebalance_delay_ms=0))
    assert shell.joined(shell.join(version=3)).generation_id == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group": "x" * 10_000}, ErrorCode.INVALID_GROUP_ID),
        ({"session_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [("x" * 10_000, b"")]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": ""}, ErrorCode.INVALID_REQUEST),
        ({"instance": "a/b"}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_refused_join_leaves_nothing_behind(
    shell: Shell, options: dict[str, object], error: ErrorCode
) -> None:
    assert shell.error(shell.join(**options)) == error  # type: ignore[arg-type]
    assert shell.shard.list_groups() == []
    assert shell.shard.next_deadline_ms() is None


def test_a_stranger_is_unknown_in_a_known_group(shell: Shell) -> None:
    shell.form(1)
    assert shell.error(shell.join("unknown")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.error(shell.join("c-1", instance="i")) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_given_out_id_cannot_be_used_by_a_static_member(shell: Shell) -> None:
    member_id = shell.new_id()
    assert shell.error(shell.join(member_id, instance="i")) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_protocol_most_members_like_best_wins(shell: Shell) -> None:
    tokens = [
        shell.join(version=3, protocols=[("a", b""), ("b", b""), ("c", b"")]),
        shell.join(version=3, protocols=[("c", b""), ("b", b""), ("a", b"")]),
        shell.join(version=3, protocols=[("d", b""), ("c", b"1"), ("a", b"")]),
    ]
    shell.advance(2 * DELAY_MS)
    answers = [shell.joined(token) for token in tokens]
    assert {answer.protocol_name for answer in answers} == {"c"}
    assert [member.metadata for member in answers[0].members] == [b"", b"", b"1"]


def test_who_shares_no_protocol_with_all_is_refused(shell: Shell) -> None:
    shell.form(2, protocols=[("a", META), ("b", META)])
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert shell.error(shell.join(protocols=[("c", META)])) == inconsistent
    assert shell.error(shell.join(protocol_type="connect", protocols=[("a", b"")])) == inconsistent
    assert shell.error(shell.join(protocols=[("b", META)])) == ErrorCode.MEMBER_ID_REQUIRED


def test_an_empty_group_may_change_its_protocol_type(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.leave(member_id)
    token = shell.join(version=3, protocol_type="connect", protocols=[("default", b"")])
    shell.advance(DELAY_MS)
    assert shell.joined(token).protocol_type == "connect"


def test_a_full_group_takes_nobody_else() -> None:
    shell = Shell(GroupConfig(group_max_size=2, group_initial_rebalance_delay_ms=DELAY_MS))
    first, second = shell.form(2)
    full = ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shell.error(shell.join()) == full
    assert shell.error(shell.join(version=3)) == full
    assert shell.heartbeat(first, 1) == ErrorCode.NONE
    # While it rebalances, places are for those who come first.
    token = shell.join(first)
    third = shell.join(version=3)
    late = shell.join(second)
    assert shell.error(late) == full
    assert shell.joined(token).error_code == shell.joined(third).error_code == 0
    assert shell.heartbeat(second, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_comes_too_late_for_a_full_group_holds_nobody_up() -> None:
    shell = Shell(GroupConfig(group_max_size=2, group_initial_rebalance_delay_ms=DELAY_MS))
    (leader,) = shell.form(1)
    late = shell.new_id()
    newcomer = shell.join(version=3)
    token = shell.join(leader)
    assert token not in shell.answers
    assert shell.error(shell.join(late)) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shell.joined(token).generation_id == shell.joined(newcomer).generation_id == 2


def test_a_follower_that_lost_its_answer_gets_the_current_generation(shell: Shell) -> None:
    leader, follower = shell.form(2)
    answer = shell.joined(shell.join(follower))
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader, [])
    assert shell.state() == "Stable"


@pytest.mark.parametrize("who", [0, 1])
def test_a_rejoin_between_join_and_sync_changes_nothing(shell: Shell, who: int) -> None:
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    before = shell.joined(tokens[who])
    assert shell.joined(shell.join(before.member_id)) == before
    changed = shell.join(before.member_id, protocols=[("range", b"new")])
    assert changed not in shell.answers
    assert shell.state() == "PreparingRebalance"


def test_the_leader_of_a_stable_group_rebalances_by_joining_again(shell: Shell) -> None:
    leader, follower = shell.form(2)
    token = shell.join(leader)
    assert shell.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.join(follower)
    assert shell.joined(token).generation_id == 2


def test_a_follower_that_wants_something_else_rebalances(shell: Shell) -> None:
    leader, follower = shell.form(2)
    token = shell.join(follower, protocols=[("range", subscription("other"))])
    assert shell.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.join(leader)
    assert shell.joined(token).generation_id == 2


def test_a_repeated_join_takes_the_place_of_the_parked_one(shell: Shell) -> None:
    leader, follower = shell.form(2)
    first = shell.join(leader)
    second = shell.join(leader)
    assert shell.error(first) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.join(follower)
    assert shell.joined(second).generation_id == 2


def test_a_rebalance_waits_for_ids_that_were_given_out(shell: Shell) -> None:
    (leader,) = shell.form(1)
    newcomer = shell.new_id()
    token = shell.join(leader)
    assert token not in shell.answers
    shell.join(newcomer)
    assert len(shell.joined(token).members) == 2


def test_a_long_client_id_is_cut_in_the_member_id(shell: Shell) -> None:
    protocols = [JoinGroupRequestProtocol(*each) for each in RANGE]
    request = JoinGroupRequest("g", SESSION_MS, REBALANCE_MS, "", None, "consumer", protocols)
    decision = shell.shard.classic.join_group(
        request, token=1, client_id="x" * 32_000, client_host="h", api_version=9, now_ms=0
    )
    response = decision.replies[0].response
    assert isinstance(response, JoinGroupResponse)
    assert len(response.member_id) < 300
