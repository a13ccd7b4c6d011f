"""What happens between a decision and its records being persisted, and when they are not."""

import pytest

from barnabas.groups import GroupConfig
from barnabas.wire.errors import ErrorCode
from tests.groups.shell import CONFIG, DELAY_MS, GROUP, REBALANCE_MS, Shell, subscription


@pytest.fixture
def shell() -> Shell:
    return Shell()


def joined_two(shell: Shell) -> tuple[str, str]:
    """Two members between join and sync, and a disk that takes its time."""
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    leader, follower = (shell.joined(token).member_id for token in tokens)
    shell.persists_at_once = False
    return leader, follower


# -- offsets -------------------------------------------------------------------------------------


def test_an_offset_is_seen_once_it_is_persisted(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    first, second = shell.commit(2), shell.commit(3)
    assert shell.committed() == 1
    shell.persist_next()
    assert (shell.committed(), shell.error(first)) == (2, ErrorCode.NONE)
    assert second not in shell.answers
    shell.persist_next()
    assert (shell.committed(), shell.error(second)) == (3, ErrorCode.NONE)


def test_a_commit_that_fails_leaves_no_trace(shell: Shell) -> None:
    shell.persists_at_once = False
    token = shell.commit(1)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.shard.list_groups() == []
    token = shell.commit(2)
    shell.commit(3)
    shell.persist_next()
    shell.fail_next()
    assert shell.error(token) == ErrorCode.NONE
    assert shell.committed() == shell.restart().committed() == 2


# -- assignments ---------------------------------------------------------------------------------


def test_an_assignment_is_handed_out_once_it_is_persisted(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    early = shell.sync(follower, 1)
    own = shell.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert shell.heartbeat(follower, 1) == ErrorCode.NONE
    assert shell.state() == "CompletingRebalance"
    assert not shell.answers.keys() & {early, own}
    shell.persist_next()
    assert (shell.synced(own).assignment, shell.synced(early).assignment) == (b"L", b"F")
    assert shell.state() == "Stable"


def test_a_follower_that_syncs_meanwhile_is_answered_too(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    shell.sync(leader, 1, {follower: b"F"})
    late = shell.sync(follower, 1)
    shell.persist_next()
    assert shell.synced(late).assignment == b"F"


def test_the_leader_syncs_again_meanwhile(shell: Shell) -> None:
    leader, _ = joined_two(shell)
    first = shell.sync(leader, 1, {leader: b"first"})
    second = shell.sync(leader, 1, {leader: b"second"})
    assert shell.error(first) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.persist_next()
    assert not shell.in_flight
    assert shell.synced(second).assignment == b"first"


def test_a_slow_disk_is_not_the_members_fault(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    parked = [shell.sync(leader, 1, {follower: b"F"}), shell.sync(follower, 1)]
    shell.advance(2 * REBALANCE_MS)
    shell.persist_next()
    assert [shell.error(token) for token in parked] == [ErrorCode.NONE] * 2
    assert shell.heartbeat(leader, 1) == ErrorCode.NONE


def test_a_newcomer_meanwhile_wins(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    own = shell.sync(leader, 1, {leader: b"L", follower: b"F"})
    newcomer = shell.join(version=3)
    assert shell.error(own) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.persist_next()
    assert shell.state() == "PreparingRebalance"
    tokens = [shell.join(leader), shell.join(follower)]
    assert shell.joined(tokens[0]).generation_id == shell.joined(newcomer).generation_id == 2
    # What was persisted is what a restart goes back to.
    assert shell.restart().heartbeat(leader, 1) == ErrorCode.NONE


def test_an_assignment_of_an_older_generation_is_given_to_nobody(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    shell.sync(leader, 1, {follower: b"old"})
    shell.join(leader, protocols=[("range", b"new")])
    shell.join(follower)
    parked = shell.sync(follower, 2)
    shell.persist_next()
    assert shell.state() == "CompletingRebalance"
    assert parked not in shell.answers
    shell.sync(leader, 2, {follower: b"new"})
    shell.persist_next()
    assert shell.synced(parked).assignment == b"new"


def test_an_assignment_that_is_not_persisted_is_given_to_nobody(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    parked = [shell.sync(follower, 1), shell.sync(leader, 1, {follower: b"F"})]
    shell.fail_next()
    assert [shell.error(token) for token in parked] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert shell.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    tokens = [shell.join(leader), shell.join(follower)]
    assert [shell.joined(token).generation_id for token in tokens] == [2, 2]
    shell.persists_at_once = True
    shell.assign([leader, follower], 2)


def test_a_failure_after_the_group_has_moved_on_changes_nothing(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    shell.sync(leader, 1, {follower: b"old"})
    shell.join(leader, protocols=[("range", b"new")])
    shell.join(follower)
    parked = shell.sync(follower, 2)
    shell.fail_next()
    assert shell.state() == "CompletingRebalance"
    assert parked not in shell.answers


# -- empty groups --------------------------------------------------------------------------------


def test_the_last_one_out_is_answered_once_that_is_persisted(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.persists_at_once = False
    token = shell.leave(member_id)
    assert token not in shell.answers
    shell.persist_next()
    assert shell.left(token).members[0].error_code == ErrorCode.NONE


def test_an_empty_group_is_persisted_again_until_it_works(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.persists_at_once = False
    token = shell.leave(member_id)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not shell.in_flight
    shell.advance(CONFIG.persist_retry_ms)
    shell.fail_next()
    shell.advance(CONFIG.persist_retry_ms)
    shell.persist_next()
    assert shell.state() == "Empty"
    assert shell.restart().state() == "Empty"


def test_an_empty_group_whose_deletion_fails_as_well_is_persisted_in_the_end(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.persists_at_once = False
    shell.leave(member_id)
    shell.carry_out(shell.shard.delete_groups([GROUP], token=shell.token()))
    shell.fail_next()
    shell.fail_next()
    assert shell.restart().state() == "Stable"
    shell.advance(CONFIG.persist_retry_ms)
    shell.persist_next()
    assert shell.restart().state() == "Empty"


def test_a_group_that_was_never_persisted_is_not_forgotten_too_early(shell: Shell) -> None:
    leader, follower = joined_two(shell)
    shell.sync(leader, 1, {leader: b"of the first group"})
    shell.leave(leader, follower)
    newcomer = shell.join(version=3)
    shell.advance(2 * DELAY_MS)
    # Had it been forgotten, this would be generation 1 again, and the record in flight its own.
    assert shell.joined(newcomer).generation_id == 3
    while shell.in_flight:
        shell.persist_next()
    assert shell.state() == "CompletingRebalance"


def test_somebody_joins_a_group_that_was_not_persisted_as_empty() -> None:
    shell = Shell(GroupConfig(group_initial_rebalance_delay_ms=0))
    member_id = shell.joined(shell.join(version=3)).member_id
    shell.assign([member_id], 1)
    shell.persists_at_once = False
    shell.leave(member_id)
    shell.fail_next()
    assert shell.joined(shell.join(version=3)).generation_id == 3


def test_somebody_joins_while_an_empty_group_is_persisted(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.persists_at_once = False
    shell.leave(member_id)
    token = shell.join(version=3)
    shell.persist_next()
    shell.advance(DELAY_MS)
    assert shell.joined(token).generation_id == 3


# -- static members ------------------------------------------------------------------------------


def test_a_takeover_is_answered_once_it_is_persisted(shell: Shell) -> None:
    shell.form(instances=["one", "two"])
    shell.persists_at_once = False
    token = shell.join(instance="two")
    assert token not in shell.answers
    shell.persist_next()
    assert shell.joined(token).generation_id == 1


def test_a_takeover_that_fails_ends_in_a_rebalance(shell: Shell) -> None:
    leader, _ = shell.form(instances=["one", "two"])
    shell.persists_at_once = False
    token = shell.join(instance="two")
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.heartbeat(leader, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
    again = shell.join(instance="two")
    shell.join(leader, instance="one")
    assert shell.joined(again).generation_id == 2


def test_two_takeovers_at_once(shell: Shell) -> None:
    shell.form(instances=["one", "two"])
    shell.persists_at_once = False
    tokens = [shell.join(instance="two"), shell.join(instance="two")]
    shell.persist_next()
    shell.persist_next()
    first, second = (shell.joined(token).member_id for token in tokens)
    for one in (shell, shell.restart()):
        assert one.heartbeat(first, 1, "two") == ErrorCode.FENCED_INSTANCE_ID
        assert one.heartbeat(second, 1, "two") == ErrorCode.NONE


def test_a_takeover_while_others_rebalance_meanwhile(shell: Shell) -> None:
    leader, _ = shell.form(instances=["one", "two"])
    shell.persists_at_once = False
    token = shell.join(instance="two")
    shell.join(leader, instance="one", protocols=[("range", subscription("new"))])
    shell.persist_next()
    new = shell.joined(token)
    assert new.generation_id == 1
    assert shell.heartbeat(new.member_id, 1, "two") == ErrorCode.REBALANCE_IN_PROGRESS
