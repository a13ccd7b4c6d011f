"""What happens to those who do not come in time, and only to those."""

import pytest

from barnabas.wire.errors import ErrorCode
from tests.groups.shell import DELAY_MS, REBALANCE_MS, SESSION_MS, Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


def test_a_silent_member_loses_its_place(shell: Shell) -> None:
    alive, dead = shell.form(2)
    shell.advance(SESSION_MS // 2)
    assert shell.heartbeat(alive, 1) == ErrorCode.NONE
    shell.advance(SESSION_MS // 2 - 1)
    assert shell.heartbeat(alive, 1) == ErrorCode.NONE
    shell.advance(1)
    assert shell.heartbeat(alive, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.heartbeat(dead, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert [m.member_id for m in shell.joined(shell.join(alive)).members] == [alive]


def test_heartbeats_keep_a_group_stable(shell: Shell) -> None:
    names = shell.form(3)
    for _ in range(20):
        shell.advance(SESSION_MS - 1)
        assert [shell.heartbeat(name, 1) for name in names] == [ErrorCode.NONE] * 3


@pytest.mark.parametrize("sign_of_life", ["join", "sync", "commit"])
def test_other_requests_count_as_heartbeats(shell: Shell, sign_of_life: str) -> None:
    leader, follower = shell.form(2)
    shell.advance(SESSION_MS - 1)
    shell.heartbeat(leader, 1)
    match sign_of_life:
        case "join":
            shell.join(follower)
        case "sync":
            shell.sync(follower, 1)
        case "commit":
            shell.commit(1, member_id=follower, generation_id=1)
    shell.advance(SESSION_MS - 1)
    assert shell.heartbeat(follower, 1) == ErrorCode.NONE


def test_a_refused_commit_is_no_sign_of_life(shell: Shell) -> None:
    leader, follower = shell.form(2)
    shell.advance(SESSION_MS - 1)
    shell.heartbeat(leader, 1)
    shell.commit(1, member_id=follower, generation_id=0)
    shell.advance(1)
    assert shell.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_rejoin_is_dropped_with_the_rebalance_timeout(shell: Shell) -> None:
    first, second = shell.form(2)
    token = shell.join(first)
    for _ in range(REBALANCE_MS // 6_000):
        assert token not in shell.answers
        assert shell.heartbeat(second, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        shell.advance(6_000)
    assert [m.member_id for m in shell.joined(token).members] == [first]
    assert shell.heartbeat(second, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_most_patient_member_sets_the_rebalance_timeout(shell: Shell) -> None:
    first, second = shell.form(2)
    token = shell.join(first, rebalance_ms=2 * REBALANCE_MS)
    for _ in range(9):
        shell.advance(REBALANCE_MS // 5)
        shell.heartbeat(second, 1)
    assert token not in shell.answers
    shell.advance(REBALANCE_MS // 5)
    assert shell.joined(token).generation_id == 2


def test_a_parked_join_outlives_its_session(shell: Shell) -> None:
    first, second = shell.form(2)
    token = shell.join(first)
    for _ in range(4):
        shell.advance(SESSION_MS - 3_000)
        shell.heartbeat(second, 1)
    assert token not in shell.answers
    shell.join(second)
    assert shell.joined(token).error_code == ErrorCode.NONE


def test_a_joined_member_that_never_syncs_is_dropped(shell: Shell) -> None:
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    leader, lazy = (shell.joined(token).member_id for token in tokens)
    shell.sync(leader, 1, {leader: b"L"})
    assert shell.state() == "Stable"
    for _ in range(4):
        assert shell.heartbeat(lazy, 1) == ErrorCode.NONE
        assert shell.heartbeat(leader, 1) == ErrorCode.NONE
        shell.advance(REBALANCE_MS // 4)
    assert shell.heartbeat(lazy, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_never_syncs_is_dropped(shell: Shell) -> None:
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    leader, follower = (shell.joined(token).member_id for token in tokens)
    parked = shell.sync(follower, 1)
    for _ in range(4):
        shell.heartbeat(leader, 1)
        shell.advance(REBALANCE_MS // 4)
    assert shell.error(parked) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.joined(shell.join(follower)).leader == follower


def test_when_all_have_synced_nobody_is_dropped(shell: Shell) -> None:
    names = shell.form(2)
    for _ in range(10):
        shell.advance(SESSION_MS // 2)
        assert [shell.heartbeat(name, 1) for name in names] == [ErrorCode.NONE] * 2


def test_an_id_that_is_never_used_expires(shell: Shell) -> None:
    member_id = shell.new_id()
    shell.advance(SESSION_MS - 1)
    assert shell.state() == "Empty"
    shell.advance(1)
    assert shell.state() == "Dead"
    assert shell.error(shell.join(member_id)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unused_id_holds_up_a_rebalance_only_until_it_expires(shell: Shell) -> None:
    (leader,) = shell.form(1)
    shell.new_id()
    token = shell.join(leader)
    shell.advance(SESSION_MS - 1)
    assert token not in shell.answers
    shell.advance(1)
    assert shell.joined(token).generation_id == 2


def test_a_new_member_is_not_parked_for_ever(shell: Shell) -> None:
    # A patient member that heartbeats and never rejoins holds the rebalance up.
    (first,) = shell.form(1)
    token = shell.join(first, rebalance_ms=10_000_000)
    shell.sync(first, shell.joined(token).generation_id, {})
    newcomer = shell.join(version=3)
    for _ in range(300_000 // 5_000 - 1):
        shell.advance(5_000)
        assert shell.heartbeat(first, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert newcomer not in shell.answers
    shell.advance(5_000)
    assert shell.error(newcomer) == ErrorCode.UNKNOWN_MEMBER_ID


def test_when_the_last_member_dies_the_group_is_empty(shell: Shell) -> None:
    shell.form(2)
    shell.advance(SESSION_MS)
    assert shell.state() == "Empty"
    token = shell.join(version=3)
    shell.advance(DELAY_MS)
    assert shell.joined(token).generation_id == 3  # the empty one counts
