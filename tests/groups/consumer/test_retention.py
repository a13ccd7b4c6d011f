"""Committed offsets of a consumer group outlive its members by the retention time."""

import pytest

from barnabas.groups import GroupConfig
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics

RETENTION_MS = 2 * 60 * 60_000
CONFIG = GroupConfig(offsets_retention_ms=RETENTION_MS)
CHECK_MS = CONFIG.offsets_retention_check_interval_ms
HEARTBEAT_MS = 5_000


@pytest.fixture
def shell() -> ConsumerShell:
    """A group whose last commit is older than the retention time, with one member."""
    shell = ConsumerShell(CONFIG, topics=FakeTopics(t=1))
    epoch = shell.join_group("m").member_epoch
    shell.commit(7, member_id="m", generation_id=epoch)
    for _ in range((RETENTION_MS + CHECK_MS) // HEARTBEAT_MS):
        shell.beaten(shell.beat("m", epoch))
        shell.advance(HEARTBEAT_MS)
    assert shell.committed() == 7
    return shell


def test_offsets_do_not_expire_as_soon_as_the_last_member_has_left(shell: ConsumerShell) -> None:
    shell.beat("m", -1)
    shell.advance(RETENTION_MS - CHECK_MS)
    assert shell.committed() == 7
    shell.advance(2 * CHECK_MS)
    assert shell.committed() == -1
    assert shell.shard.list_groups() == []


def test_offsets_do_not_expire_as_soon_as_the_last_member_has_died(shell: ConsumerShell) -> None:
    shell.advance(RETENTION_MS - CHECK_MS)
    assert shell.consumer_group().is_empty
    assert shell.committed() == 7
    shell.advance(2 * CHECK_MS)
    assert shell.committed() == -1


def test_the_time_without_members_counts_across_restarts(shell: ConsumerShell) -> None:
    shell.beat("m", -1)
    for _ in range(8):
        assert shell.committed() == 7
        shell.advance(RETENTION_MS // 8)
        shell = shell.restart()
    shell.advance(CHECK_MS)
    assert shell.committed() == -1


def test_who_joins_an_empty_group_waits_for_no_assignment_interval(shell: ConsumerShell) -> None:
    shell.beat("m", -1)
    shell.advance(1)
    assert shell.assigned(shell.join_group("n"))["t"]
