"""Listing, describing and deleting groups."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsResponse
from tests.groups.shell import DELAY_MS, GROUP, RANGE, Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


def delete(shell: Shell, *group_ids: str) -> int:
    token = shell.token()
    shell.carry_out(shell.shard.delete_groups(group_ids, token=token))
    return token


def codes(shell: Shell, token: int) -> list[int]:
    answer = shell.answers[token]
    assert isinstance(answer, DeleteGroupsResponse)
    return [result.error_code for result in answer.results]


def listed(shell: Shell, **filters: list[str]) -> list[tuple[str, str, str, str]]:
    return [
        (group.group_id, group.protocol_type, group.group_state, group.group_type)
        for group in shell.shard.list_groups(**filters)  # type: ignore[arg-type]
    ]


def test_list(shell: Shell) -> None:
    assert listed(shell) == []
    shell.form(1)
    shell.commit(1, group="simple")
    stable = (GROUP, "consumer", "Stable", "Classic")
    simple = ("simple", "", "Empty", "Classic")
    assert listed(shell) == [stable, simple]
    assert listed(shell, states_filter=["stable"]) == [stable]
    assert listed(shell, states_filter=["Empty", "Dead"]) == [simple]
    assert listed(shell, states_filter=["PreparingRebalance"]) == []
    assert listed(shell, types_filter=["classic"]) == [stable, simple]
    assert listed(shell, types_filter=["consumer"]) == []


def test_describe_a_stable_group(shell: Shell) -> None:
    first, second = shell.form(instances=["one", "two"])
    group = shell.shard.describe_group(GROUP, api_version=5)
    assert (group.group_id, group.group_state, group.error_code) == (GROUP, "Stable", 0)
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    assert [m.member_id for m in group.members] == [first, second]
    member = group.members[0]
    assert (member.group_instance_id, member.client_id) == ("one", "c")
    assert member.client_host == "/127.0.0.1"
    assert member.member_metadata == RANGE[0][1]
    assert member.member_assignment == f"for {first}".encode()


def test_while_a_group_rebalances_only_its_members_are_told(shell: Shell) -> None:
    leader, _ = shell.form(2)
    shell.join(leader)
    group = shell.shard.describe_group(GROUP, api_version=5)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [(m.member_metadata, m.member_assignment) for m in group.members] == [(b"", b"")] * 2


def test_describe_a_group_nobody_knows(shell: Shell) -> None:
    old = shell.shard.describe_group("unknown", api_version=5)
    assert (old.group_state, old.error_code) == ("Dead", ErrorCode.NONE)
    new = shell.shard.describe_group("unknown", api_version=6)
    assert (new.group_state, new.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert new.error_message is not None


def test_only_empty_groups_are_deleted(shell: Shell) -> None:
    shell.form(1)
    shell.commit(1, group="simple")
    token = delete(shell, GROUP, "simple", "unknown")
    assert codes(shell, token) == [
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.NONE,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]
    assert [name for name, *_ in listed(shell)] == [GROUP]
    assert shell.committed(group="simple") == -1


def test_a_deleted_group_stays_deleted_and_begins_anew(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.commit(1, member_id=member_id, generation_id=1)
    shell.leave(member_id)
    assert codes(shell, delete(shell, GROUP)) == [ErrorCode.NONE]
    assert shell.shard.next_deadline_ms() is None
    for one in (shell, shell.restart()):
        assert listed(one) == []
        assert one.committed() == -1
        token = one.join(version=3)
        one.advance(DELAY_MS)
        assert one.joined(token).generation_id == 1


def test_a_group_with_an_unused_id_can_be_deleted(shell: Shell) -> None:
    member_id = shell.new_id()
    assert codes(shell, delete(shell, GROUP)) == [ErrorCode.NONE]
    assert shell.error(shell.join(member_id)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_nothing_happens_to_a_group_whose_deletion_is_being_persisted(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    token = delete(shell, GROUP)
    not_now = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.error(shell.join()) == not_now
    assert shell.error(shell.commit(2)) == not_now
    assert shell.error(shell.sync("c-1", 1)) == not_now
    assert shell.heartbeat("c-1", 1) == not_now
    assert shell.error(shell.leave("c-1")) == not_now
    assert codes(shell, delete(shell, GROUP)) == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert shell.shard.describe_group(GROUP, api_version=6).group_state == "Dead"
    shell.persist_next()
    assert codes(shell, token) == [ErrorCode.NONE]
    assert shell.shard.list_groups() == []


def test_a_deletion_that_fails_leaves_the_group_as_it_was(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    token = delete(shell, GROUP)
    shell.fail_next()
    assert codes(shell, token) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert shell.committed() == 1
    assert shell.state() == "Empty"


def test_a_deletion_reaches_commits_that_are_not_persisted_yet(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    shell.commit(2, partition=1)
    delete(shell, GROUP)
    shell.persist_next()
    shell.persist_next()
    assert shell.shard.list_groups() == []
    assert shell.restart().shard.list_groups() == []
