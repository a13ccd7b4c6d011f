"""What a broker that has only the log knows of its groups."""

import pytest

from barnabas.groups import GroupShard
from barnabas.wire.errors import ErrorCode
from tests.groups.shell import CONFIG, DELAY_MS, GROUP, SESSION_MS, Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


def test_a_stable_group_goes_on_without_a_rebalance(shell: Shell) -> None:
    leader, follower = shell.form(2)
    shell.commit(9, member_id=leader, generation_id=1)
    before = shell.shard.describe_group(GROUP, api_version=5)
    shell = shell.restart()
    assert shell.shard.describe_group(GROUP, api_version=5) == before
    assert shell.heartbeat(leader, 1) == shell.heartbeat(follower, 1) == ErrorCode.NONE
    assert shell.synced(shell.sync(follower, 1)).assignment == f"for {follower}".encode()
    assert shell.error(shell.commit(10, member_id=leader, generation_id=1)) == ErrorCode.NONE
    assert shell.committed() == 10
    answer = shell.joined(shell.join(follower))
    assert (answer.generation_id, answer.leader) == (1, leader)


def test_sessions_begin_with_the_restart(shell: Shell) -> None:
    alive, dead = shell.form(2)
    shell.now_ms += 10 * SESSION_MS
    shell = shell.restart()
    shell.advance(SESSION_MS - 1)
    assert shell.heartbeat(alive, 1) == ErrorCode.NONE
    shell.advance(1)
    assert shell.heartbeat(alive, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.heartbeat(dead, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.joined(shell.join(alive)).generation_id == 2


def test_a_rebalance_that_was_under_way_is_forgotten(shell: Shell) -> None:
    leader, follower = shell.form(2)
    newcomer = shell.join(version=3)
    shell.join(leader)
    shell.join(follower)
    new_id = shell.joined(newcomer).member_id
    shell = shell.restart()
    assert shell.heartbeat(leader, 2) == ErrorCode.ILLEGAL_GENERATION
    assert shell.heartbeat(new_id, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.joined(shell.join(follower)).generation_id == 1


def test_the_leader_still_leads(shell: Shell) -> None:
    _, follower = shell.form(instances=["one", "two"])
    leader = shell.joined(shell.join(instance="one")).member_id
    shell = shell.restart()
    assert shell.joined(shell.join(follower, instance="two")).leader == leader


def test_an_empty_group_keeps_its_generation_and_type(shell: Shell) -> None:
    shell.leave(*shell.form(1))
    shell = shell.restart()
    assert shell.shard.list_groups()[0].protocol_type == "consumer"
    token = shell.join(version=3)
    shell.advance(DELAY_MS)
    assert shell.joined(token).generation_id == 3


def test_records_of_other_kinds_are_passed_over() -> None:
    shard = GroupShard(CONFIG, lambda: "1")
    shard.replay(b"\x00\x63whatever", b"\x00\x00?")
    shard.replay(b"\x00\x63whatever", None)
    shard.loaded(0)
    assert shard.list_groups() == []


def test_unload_answers_everything_that_is_parked(shell: Shell) -> None:
    leader, _ = shell.form(2)
    parked = shell.join(leader)
    syncing = Shell()
    tokens = [syncing.join(version=3), syncing.join(version=3)]
    syncing.advance(2 * DELAY_MS)
    waiting = syncing.sync(syncing.joined(tokens[1]).member_id, 1)
    for one, token in ((shell, parked), (syncing, waiting)):
        (reply,) = one.shard.unload()
        assert reply.token == token
        assert reply.response.error_code == ErrorCode.NOT_COORDINATOR  # type: ignore[attr-defined]
        assert one.shard.list_groups() == []
        assert one.shard.next_deadline_ms() is None


def test_a_decision_may_still_fail_after_unload(shell: Shell) -> None:
    shell.persists_at_once = False
    token = shell.commit(1)
    shell.shard.unload()
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
