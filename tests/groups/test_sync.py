"""Handing out assignments, heartbeats and fencing by generation."""

import pytest

from barnabas.wire.errors import ErrorCode
from tests.groups.shell import DELAY_MS, Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


def join_two(shell: Shell) -> tuple[str, str]:
    tokens = [shell.join(version=3), shell.join(version=3)]
    shell.advance(2 * DELAY_MS)
    leader, follower = (shell.joined(token).member_id for token in tokens)
    return leader, follower


def test_everybody_gets_what_the_leader_says(shell: Shell) -> None:
    leader, follower = join_two(shell)
    early = shell.sync(follower, 1)
    assert early not in shell.answers
    own = shell.sync(leader, 1, {leader: b"L", follower: b"F", "unknown": b"S"})
    assert (shell.synced(own).assignment, shell.synced(early).assignment) == (b"L", b"F")
    assert shell.synced(early).protocol_name == "range"
    assert shell.synced(early).protocol_type == "consumer"
    assert shell.synced(shell.sync(follower, 1)).assignment == b"F"


def test_whom_the_leader_forgets_gets_nothing(shell: Shell) -> None:
    leader, follower = join_two(shell)
    shell.sync(leader, 1, {leader: b"L"})
    assert shell.synced(shell.sync(follower, 1)).assignment == b""


def test_a_follower_cannot_assign(shell: Shell) -> None:
    leader, follower = join_two(shell)
    shell.sync(follower, 1, {follower: b"mine"})
    assert shell.state() == "CompletingRebalance"
    shell.sync(leader, 1, {follower: b"yours"})
    assert shell.synced(shell.sync(follower, 1)).assignment == b"yours"


def test_a_second_plan_of_the_leader_is_not_heard(shell: Shell) -> None:
    leader, _ = join_two(shell)
    shell.sync(leader, 1, {leader: b"first"})
    again = shell.sync(leader, 1, {leader: b"second"})
    assert shell.synced(again).assignment == b"first"


def test_a_repeated_sync_takes_the_place_of_the_parked_one(shell: Shell) -> None:
    leader, follower = join_two(shell)
    first, second = shell.sync(follower, 1), shell.sync(follower, 1)
    assert shell.error(first) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.sync(leader, 1, {follower: b"F"})
    assert shell.synced(second).assignment == b"F"


def test_a_newcomer_sends_parked_syncs_back_to_join(shell: Shell) -> None:
    leader, follower = join_two(shell)
    parked = shell.sync(follower, 1)
    shell.join(version=3)
    assert shell.error(parked) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.error(shell.sync(leader, 1)) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_joins_anew_while_its_sync_is_parked_is_not_timed_out(shell: Shell) -> None:
    leader, follower = join_two(shell)
    parked = shell.sync(follower, 1)
    token = shell.join(follower, protocols=[("range", b"new")])
    assert shell.error(parked) == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(3):
        shell.advance(9_000)
        shell.heartbeat(leader, 1)
    assert token not in shell.answers  # three sessions long, as its session clock stands still
    shell.join(leader)
    assert shell.joined(token).generation_id == 2


@pytest.mark.parametrize(
    ("who", "generation", "options", "error"),
    [
        ("c-1", 2, {}, ErrorCode.ILLEGAL_GENERATION),
        ("c-1", 0, {}, ErrorCode.ILLEGAL_GENERATION),
        ("unknown", 1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", 1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("c-1", 1, {"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("c-1", 1, {"protocol_name": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("c-1", 1, {"protocol_type": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("c-1", 1, {"protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
    ],
)
def test_who_may_sync(
    shell: Shell, who: str, generation: int, options: dict[str, str], error: ErrorCode
) -> None:
    shell.form(1)
    assert shell.error(shell.sync(who, generation, **options)) == error  # type: ignore[arg-type]


def test_a_group_nobody_knows(shell: Shell) -> None:
    assert shell.error(shell.sync("c-1", 1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.heartbeat("c-1", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_tell_how_things_stand(shell: Shell) -> None:
    leader, follower = join_two(shell)
    assert shell.heartbeat(follower, 1) == ErrorCode.NONE  # between join and sync
    shell.assign([leader, follower], 1)
    assert shell.heartbeat(follower, 1) == ErrorCode.NONE
    assert shell.heartbeat(follower, 0) == ErrorCode.ILLEGAL_GENERATION
    assert shell.heartbeat("unknown", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    shell.join(leader)
    assert shell.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
