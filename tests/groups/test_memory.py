"""What members say of themselves is limited, in all groups together."""

import pytest

from barnabas.groups.config import GroupConfig
from barnabas.groups.memory import GroupMemory
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
    assert used(shell) < 1000
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
