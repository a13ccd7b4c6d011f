"""What members say of themselves is limited, in all groups together."""

import pytest

from barnabas.groups.config import GroupConfig
from barnabas.groups.memory import PER_GROUP_BYTES, GroupMemory
from barnabas.wire.errors import ErrorCode
from tests.groups.shell import Shell

LIMIT = 1_000_000
LARGE = [("range", bytes(400_000))]
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.fixture
def shell() -> Shell:
    return Shell(GroupConfig(group_metadata_max_bytes=LIMIT, group_initial_rebalance_delay_ms=0))


def used(shell: Shell) -> int:
    return shell.shard._memory.used


def test_members_that_say_much_are_refused_when_the_memory_is_used_up(shell: Shell) -> None:
    tokens = [shell.join(version=3, protocols=LARGE, group=f"g{n}") for n in range(3)]
    assert [shell.joined(token).error_code for token in tokens[:2]] == [0, 0]
    assert shell.error(tokens[2]) == FULL
    assert 800_000 < used(shell) < LIMIT
    # Who says little is let in all the same.
    assert shell.joined(shell.join(version=3, group="small")).error_code == 0


def test_memory_goes_with_the_members(shell: Shell) -> None:
    shell.join(version=3, protocols=LARGE, group="g0")
    assert used(shell) > 400_000
    shell.advance(3_600_000)
    assert used(shell) < 1000 + PER_GROUP_BYTES
    assert shell.joined(shell.join(version=3, protocols=LARGE, group="g1")).error_code == 0


def test_memory_goes_with_the_shard(shell: Shell) -> None:
    shell.join(version=3, protocols=LARGE, group="g0")
    shell.shard.unload()
    assert used(shell) == 0


def test_so_much_and_somewhat_more_for_those_who_say_little() -> None:
    memory = GroupMemory(100_000)
    assert memory.has_room(100_000)
    assert not memory.has_room(100_001)
    memory.used = 100_000
    assert memory.has_room(1000)
    memory.used = 125_000
    assert not memory.has_room(1000)


# -- offsets ---------------------------------------------------------------------------------------

NO_ROOM = ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_groups_and_offsets_take_memory_until_they_are_gone(shell: Shell) -> None:
    shell.commit(1, topic="t")
    one = used(shell)
    assert one > PER_GROUP_BYTES
    shell.commit(1, topic="u")
    two = used(shell)
    assert two > one
    shell.commit(2, topic="u")
    assert used(shell) == two, "an offset replaces the one before"
    assert used(shell.restart()) == two
    shell.carry_out(shell.shard.topics_deleted({"u"}))
    assert used(shell) == one
    shell.carry_out(shell.shard.delete_groups(["g"], token=shell.token()))
    assert used(shell) == 0


def test_too_many_groups_and_offsets_are_refused(shell: Shell) -> None:
    codes = [shell.error(shell.commit(1, group=f"g{n}")) for n in range(1000)]
    accepted = codes.count(ErrorCode.NONE)
    assert 300 < accepted < 1000
    assert codes == [ErrorCode.NONE] * accepted + [NO_ROOM] * (1000 - accepted)
    assert used(shell) <= LIMIT * 1.25
    assert len(shell.shard.list_groups()) == accepted
    assert shell.error(shell.commit(2, group="g0")) == ErrorCode.NONE, "what is there goes on"
    more = [shell.error(shell.commit(2, group="g0", topic=f"more{n}")) for n in range(20)]
    assert more[-1] == NO_ROOM
    assert shell.error(shell.join(version=3, group="new")) == FULL
    shell.carry_out(shell.shard.delete_groups(["g0", "g1"], token=shell.token()))
    assert shell.error(shell.commit(1, group="later")) == ErrorCode.NONE


def test_offsets_in_transactions_take_memory(shell: Shell) -> None:
    shell.txn_commit(1, producer_id=7)
    held = used(shell)
    assert held > PER_GROUP_BYTES
    shell.end_transaction(7, is_commit=True)
    assert used(shell) == held
    shell.txn_commit(2, producer_id=8)
    assert used(shell) > held
    shell.end_transaction(8, is_commit=False)
    assert used(shell) == held
    assert used(shell.restart()) == held
