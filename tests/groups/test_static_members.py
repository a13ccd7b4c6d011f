"""Static members: who comes back with its instance id takes its old place."""

import pytest

from barnabas.groups import GroupConfig
from barnabas.wire.errors import ErrorCode
from tests.groups.shell import DELAY_MS, REBALANCE_MS, SESSION_MS, Shell, subscription


@pytest.fixture
def shell() -> Shell:
    return Shell()


def test_a_restarted_follower_goes_on_without_a_rebalance(shell: Shell) -> None:
    leader, follower = shell.form(instances=["one", "two"])
    answer = shell.joined(shell.join(instance="two"))
    assert answer.member_id != follower
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader, [])
    assert not answer.skip_assignment
    synced = shell.synced(shell.sync(answer.member_id, 1, instance="two"))
    assert synced.assignment == f"for {follower}".encode()
    assert shell.heartbeat(leader, 1, "one") == ErrorCode.NONE
    assert shell.heartbeat(follower, 1, "two") == ErrorCode.FENCED_INSTANCE_ID
    assert shell.error(shell.sync(follower, 1, instance="two")) == ErrorCode.FENCED_INSTANCE_ID
    assert shell.error(shell.join(follower, instance="two")) == ErrorCode.FENCED_INSTANCE_ID


def test_a_restarted_leader_is_told_not_to_assign(shell: Shell) -> None:
    leader, follower = shell.form(instances=["one", "two"])
    answer = shell.joined(shell.join(instance="one", version=9))
    assert answer.skip_assignment
    assert answer.leader == answer.member_id != leader
    assert {m.member_id for m in answer.members} == {answer.member_id, follower}
    synced = shell.synced(shell.sync(answer.member_id, 1, instance="one"))
    assert synced.assignment == f"for {leader}".encode()


def test_a_restarted_leader_of_an_old_version_believes_it_follows(shell: Shell) -> None:
    leader, _ = shell.form(instances=["one", "two"])
    answer = shell.joined(shell.join(instance="one", version=8))
    assert (answer.leader, answer.members, answer.skip_assignment) == (leader, [], False)
    # It leads nevertheless: its next join rebalances.
    assert shell.join(answer.member_id, instance="one") not in shell.answers


def test_a_sticky_consumer_that_forgot_what_it_owned_still_wants_the_same(shell: Shell) -> None:
    owned = [("sticky", subscription("t", "u", owned=b"t-0"))]
    shell.form(instances=["one", "two"], protocols=owned)
    restarted = [("sticky", subscription("u", "t"))]
    assert shell.join(instance="two", protocols=restarted) in shell.answers
    other = [("sticky", subscription("t", "v"))]
    assert shell.join(instance="two", protocols=other) not in shell.answers
    assert shell.state() == "PreparingRebalance"


def test_unreadable_metadata_is_compared_as_it_is(shell: Shell) -> None:
    shell.form(instances=["one", "two"], protocols=[("x", b"?")])
    assert shell.join(instance="two", protocols=[("x", b"?")]) in shell.answers
    assert shell.join(instance="two", protocols=[("x", b"!")]) not in shell.answers


def test_a_restart_that_changes_the_protocol_rebalances(shell: Shell) -> None:
    meta = subscription("t")
    tokens = [
        shell.join(instance="one", protocols=[("a", meta), ("b", meta)]),
        shell.join(instance="two", protocols=[("a", meta), ("b", meta)]),
    ]
    shell.advance(2 * DELAY_MS)
    names = [shell.joined(token).member_id for token in tokens]
    assert shell.joined(tokens[0]).protocol_name == "a"
    shell.assign(names, 1)
    assert shell.join(instance="two", protocols=[("b", meta)]) not in shell.answers


def test_a_restart_between_join_and_sync_rebalances(shell: Shell) -> None:
    tokens = [shell.join(instance="one"), shell.join(instance="two")]
    shell.advance(2 * DELAY_MS)
    one, two = (shell.joined(token).member_id for token in tokens)
    parked = shell.sync(two, 1, instance="two")
    restarted = shell.join(instance="two")
    assert shell.error(parked) == ErrorCode.FENCED_INSTANCE_ID
    assert shell.heartbeat(one, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
    shell.join(one, instance="one")
    assert shell.joined(restarted).generation_id == 2


def test_a_second_incarnation_fences_the_parked_join_of_the_first(shell: Shell) -> None:
    first = shell.join(instance="one")
    second = shell.join(instance="one")
    assert shell.error(first) == ErrorCode.FENCED_INSTANCE_ID
    shell.advance(2 * DELAY_MS)
    assert len(shell.joined(second).members) == 1


def test_a_static_member_that_is_away_is_kept_through_a_rebalance(shell: Shell) -> None:
    leader, away = shell.form(instances=["one", "two"])
    token = shell.join(leader, instance="one")
    for _ in range(6):
        shell.heartbeat(away, 1, "two")
        shell.advance(REBALANCE_MS // 6)
    assert {m.member_id for m in shell.joined(token).members} == {leader, away}
    shell.sync(leader, 2, {away: b"kept"})
    assert shell.heartbeat(away, 1, "two") == ErrorCode.ILLEGAL_GENERATION


def test_an_absent_leader_hands_over(shell: Shell) -> None:
    leader, follower = shell.form(instances=["one", "two"])
    token = shell.join(follower, instance="two", protocols=[("range", subscription("new"))])
    for _ in range(6):
        shell.heartbeat(leader, 1, "one")
        shell.advance(REBALANCE_MS // 6)
    assert shell.joined(token).leader == follower


def test_if_only_absent_static_members_are_left_the_rebalance_waits_for_them(
    shell: Shell,
) -> None:
    one, two = shell.form(instances=["one", "two"])
    newcomer = shell.new_id()
    shell.join(newcomer)
    shell.leave(newcomer)
    for _ in range(9):  # long past the rebalance timeout
        shell.advance(SESSION_MS - 1)
        assert shell.heartbeat(one, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
        assert shell.heartbeat(two, 1, "two") == ErrorCode.REBALANCE_IN_PROGRESS
    shell.advance(SESSION_MS)
    assert shell.state() == "Empty"


def test_a_dead_static_member_loses_its_place_with_its_session(shell: Shell) -> None:
    leader, dead = shell.form(instances=["one", "two"])
    shell.advance(SESSION_MS - 1)
    shell.heartbeat(leader, 1, "one")
    shell.advance(1)
    assert shell.heartbeat(leader, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.heartbeat(dead, 1, "two") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_takeover_does_not_excuse_from_syncing(shell: Shell) -> None:
    tokens = [shell.join(instance="one"), shell.join(instance="two")]
    shell.advance(2 * DELAY_MS)
    leader = shell.joined(tokens[0]).member_id
    shell.sync(leader, 1, {}, instance="one")
    lazy = shell.joined(shell.join(instance="two")).member_id
    for _ in range(4):
        assert shell.heartbeat(lazy, 1, "two") == ErrorCode.NONE
        assert shell.heartbeat(leader, 1, "one") == ErrorCode.NONE
        shell.advance(REBALANCE_MS // 4)
    assert shell.heartbeat(lazy, 1, "two") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_its_own_back() -> None:
    config = GroupConfig(group_max_size=2, group_initial_rebalance_delay_ms=DELAY_MS)
    shell = Shell(config)
    shell.form(instances=["one", "two"])
    assert shell.error(shell.join(instance="two")) == ErrorCode.NONE
    assert shell.error(shell.join(instance="three")) == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_takeover_survives_a_restart_of_the_broker(shell: Shell) -> None:
    _, old = shell.form(instances=["one", "two"])
    new = shell.joined(shell.join(instance="two")).member_id
    shell = shell.restart()
    assert shell.heartbeat(new, 1, "two") == ErrorCode.NONE
    assert shell.heartbeat(old, 1, "two") == ErrorCode.FENCED_INSTANCE_ID
    assert shell.synced(shell.sync(new, 1, instance="two")).assignment == f"for {old}".encode()


def test_commits_of_a_replaced_member_are_fenced(shell: Shell) -> None:
    _, old = shell.form(instances=["one", "two"])
    new = shell.joined(shell.join(instance="two")).member_id
    token = shell.commit(1, member_id=old, generation_id=1, instance="two")
    assert shell.error(token) == ErrorCode.FENCED_INSTANCE_ID
    token = shell.commit(1, member_id=new, generation_id=1, instance="two")
    assert shell.error(token) == ErrorCode.NONE
