"""Groups that change their protocol while they have members."""

from collections.abc import Mapping, Sequence

import pytest

from barnabas.groups.config import ConsumerGroupConfig, GroupConfig, MigrationPolicy
from barnabas.groups.migration.embedded_protocol import read_assignment
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartition,
    TopicPartition,
)
from barnabas.wire.primitives import INT16, Writer
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics
from tests.groups.shell import DELAY_MS, GROUP, Protocols

USER_DATA = b"what a sticky assignor remembers"


def encoded(message: ConsumerProtocolSubscription | ConsumerProtocolAssignment) -> bytes:
    writer = Writer()
    writer.buffer += INT16.pack(1)
    message.encode(writer, 1)
    return writer.getvalue()


def metadata(owned: Sequence[int] = (), name: str = "cooperative-sticky") -> Protocols:
    partitions = [OwnedPartition("t", list(owned))] if owned else []
    return [(name, encoded(ConsumerProtocolSubscription(["t"], None, partitions)))]


def config(policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL) -> GroupConfig:
    return GroupConfig(
        group_initial_rebalance_delay_ms=DELAY_MS,
        consumer=ConsumerGroupConfig(migration_policy=policy),
    )


class MigrationShell(ConsumerShell):
    def classic_group(
        self, assignments: Sequence[Sequence[int]], protocol: str = "cooperative-sticky"
    ) -> list[str]:
        """A stable classic group; returns the ids of its members."""
        protocols = metadata(name=protocol)
        tokens = [self.join(version=3, protocols=protocols) for _ in assignments]
        self.advance(2 * DELAY_MS)
        ids = [self.joined(token).member_id for token in tokens]
        generation_id = self.joined(tokens[0]).generation_id
        plan = {
            member_id: encoded(
                ConsumerProtocolAssignment([TopicPartition("t", list(indexes))], USER_DATA)
            )
            for member_id, indexes in zip(ids, assignments, strict=True)
        }
        for member_id in ids[1:]:
            self.sync(member_id, generation_id)
        self.sync(ids[0], generation_id, plan)
        return ids

    def rejoin(self, member_id: str, owned: Sequence[int]) -> tuple[int, list[int]]:
        """Join and sync; returns the generation and the assigned partitions of the topic."""
        answer = self.joined(self.join(member_id, protocols=metadata(owned)))
        assert answer.error_code == ErrorCode.NONE
        assert (answer.leader, answer.members) == ("", [])
        return answer.generation_id, self.synced_partitions(member_id, answer.generation_id)

    def synced_partitions(self, member_id: str, generation_id: int) -> list[int]:
        synced = self.synced(self.sync(member_id, generation_id))
        assert synced.error_code == ErrorCode.NONE
        found: Mapping[bytes, frozenset[int]] = read_assignment(
            synced.assignment, None, self.topics
        )
        return sorted(index for indexes in found.values() for index in indexes)


@pytest.fixture
def shell() -> MigrationShell:
    return MigrationShell(config(), topics=FakeTopics(t=4))


def mixed_group(shell: MigrationShell) -> str:
    """A classic member and a consumer with two partitions each; returns the id of the former."""
    (classic,) = shell.classic_group([[0, 1, 2, 3]])
    generation_id = 1
    assert shell.assigned(shell.join_group("new")) == {}
    assert shell.heartbeat(classic, generation_id) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.rejoin(classic, [0, 1, 2, 3]) == (1, [0, 1])
    assert shell.heartbeat(classic, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.rejoin(classic, [0, 1]) == (2, [0, 1])
    assert shell.heartbeat(classic, 2) == ErrorCode.NONE
    assert shell.assigned(shell.beaten(shell.beat("new", 2))) == {"t": [2, 3]}
    return classic


def test_a_consumer_upgrades_a_classic_group(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    described = shell.described()
    assert described.group_state == "Stable"
    assert {member.member_id: member.member_type for member in described.members} == {
        classic: 0,
        "new": 1,
    }
    assert shell.restart().described() == described
    assert [group.group_type for group in shell.shard.list_groups()] == ["Consumer"]
    assert shell.is_in_step()


def test_offsets_stay(shell: MigrationShell) -> None:
    (classic,) = shell.classic_group([[0, 1, 2, 3]])
    shell.commit(7, member_id=classic, generation_id=1)
    shell.join_group("new")
    assert shell.committed() == 7
    assert shell.error(shell.commit(8, member_id=classic, generation_id=1)) == ErrorCode.NONE
    token = shell.commit(9, member_id=classic, generation_id=5)
    assert shell.error(token) == ErrorCode.ILLEGAL_GENERATION
    assert shell.restart().committed() == 8


def test_parked_requests_are_answered(shell: MigrationShell) -> None:
    classic, other = shell.classic_group([[0, 1], [2, 3]])
    waiting = shell.join(classic, protocols=metadata([0]))
    assert shell.heartbeat(other, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    shell.join_group("new")
    assert shell.joined(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not shell.asked - shell.answers.keys()


def test_a_new_classic_member_joins(shell: MigrationShell) -> None:
    mixed_group(shell)
    shell.advance(1_000)
    member_id = shell.new_id(protocols=metadata())
    generation_id, partitions = shell.rejoin(member_id, [])
    assert (generation_id, partitions) == (3, [])
    shell.beat("new", 2, owned={"t": [2, 3]})
    shell.beat("new", 2, owned={"t": [2]})
    assert shell.heartbeat(member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.rejoin(member_id, []) == (3, [3])


def test_the_last_consumer_downgrades_the_group(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    shell.beat("new", -1)
    assert [group.group_type for group in shell.shard.list_groups()] == ["Classic"]
    assert shell.state() == "PreparingRebalance"
    assert shell.heartbeat(classic, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    answer = shell.joined(shell.join(classic, protocols=metadata([0, 1])))
    assert (answer.generation_id, answer.leader) == (4, classic)
    again = shell.restart()
    assert again.state() == "Stable"
    assert again.error(again.beat("new", 2)) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_silent_consumer_downgrades_the_group(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    for _ in range(9):
        shell.advance(5_000)
        shell.heartbeat(classic, 2)
    assert [group.group_type for group in shell.shard.list_groups()] == ["Classic"]


def test_a_silent_classic_member_is_removed(shell: MigrationShell) -> None:
    mixed_group(shell)
    shell.advance(10_000)
    assert shell.assigned(shell.beaten(shell.beat("new", 2))) == {"t": [0, 1, 2, 3]}


def test_a_classic_member_leaves(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    shell.advance(1_000)
    left = shell.left(shell.leave(classic, "nobody"))
    assert [each.error_code for each in left.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert shell.assigned(shell.beaten(shell.beat("new", 2))) == {"t": [0, 1, 2, 3]}


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_upgrades_can_be_disabled(policy: MigrationPolicy) -> None:
    shell = MigrationShell(config(policy), topics=FakeTopics(t=4))
    shell.classic_group([[0, 1, 2, 3]])
    assert shell.join_group("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert shell.state() == "Stable"


def test_downgrades_can_be_disabled() -> None:
    shell = MigrationShell(config(MigrationPolicy.UPGRADE), topics=FakeTopics(t=4))
    mixed_group(shell)
    shell.beat("new", -1)
    assert [group.group_type for group in shell.shard.list_groups()] == ["Consumer"]


def test_a_group_of_another_protocol_is_not_upgraded(shell: MigrationShell) -> None:
    shell.form(1, protocols=[("connect", b"?")])
    assert shell.join_group("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_data_of_a_custom_assignor_would_be_lost(shell: MigrationShell) -> None:
    shell.classic_group([[0, 1, 2, 3]], protocol="custom")
    assert shell.join_group("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_upgrade_that_fails_changes_nothing(shell: MigrationShell) -> None:
    (classic,) = shell.classic_group([[0, 1, 2, 3]])
    shell.persists_at_once = False
    token = shell.beat("new", topics=["t"], owned={}, rebalance_ms=1_000)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.state() == "Stable"
    assert shell.heartbeat(classic, 1) == ErrorCode.NONE


def test_a_downgrade_that_fails_changes_nothing(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    shell.persists_at_once = False
    shell.beat("new", -1)
    joining = shell.join(classic, protocols=metadata([0, 1]))
    while shell.in_flight:
        shell.fail_next()
    assert shell.error(joining) in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE)
    assert [group.group_type for group in shell.shard.list_groups()] == ["Consumer"]
    assert shell.heartbeat(classic, 2) == ErrorCode.NONE
    assert shell.is_in_step()


def test_a_group_that_changes_back_at_once_has_no_members_of_before(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    shell.persists_at_once = False
    shell.beat("new", -1)
    joining = shell.beat("newer", topics=["t"], owned={}, rebalance_ms=1_000)
    assert set(shell.consumer_group().pending.members) == {classic, "newer"}
    while shell.in_flight:
        shell.persist_next()
    assert shell.is_in_step()
    assert shell.beaten(joining).error_code == ErrorCode.NONE
    shell.persists_at_once = True
    shell.advance(10_000)
    epoch = shell.beaten(joining).member_epoch
    assert shell.assigned(shell.beaten(shell.beat("newer", epoch))) == {"t": [0, 1, 2, 3]}


def test_a_decision_that_fails_after_two_changes_brings_no_member_back(
    shell: MigrationShell,
) -> None:
    classic = mixed_group(shell)
    shell.persists_at_once = False
    shell.beat("new", -1)
    shell.beat("newer", topics=["t"], owned={}, rebalance_ms=1_000)
    shell.refuses = True
    refused = shell.beat("newest", topics=["t"], owned={}, rebalance_ms=1_000)
    assert shell.error(refused) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert set(shell.consumer_group().pending.members) == {classic, "newer"}
    while shell.in_flight:
        shell.persist_next()
    assert shell.is_in_step()


def test_two_changes_that_fail_change_nothing(shell: MigrationShell) -> None:
    classic = mixed_group(shell)
    shell.persists_at_once = False
    shell.beat("new", -1)
    joining = shell.beat("newer", topics=["t"], owned={}, rebalance_ms=1_000)
    shell.fail_all()
    assert shell.error(joining) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.is_in_step()
    assert set(shell.consumer_group().pending.members) == {classic, "new"}
    assert shell.beaten(shell.beat("new", 2)).error_code == ErrorCode.NONE


def test_the_records_of_a_replaced_group_are_not_those_of_its_successor(
    shell: MigrationShell,
) -> None:
    (classic,) = shell.classic_group([[0, 1, 2, 3]])
    shell.persists_at_once = False
    generation_id = shell.joined(shell.join(classic, protocols=metadata())).generation_id
    shell.sync(classic, generation_id, {classic: b""})
    shell.beat("new", topics=["t"], owned={}, rebalance_ms=1_000)
    shell.beat("new", -1)
    shell.leave(classic)
    deletion = shell.token()
    shell.carry_out(shell.shard.delete_groups([GROUP], token=deletion))
    while len(shell.in_flight) > 1:
        shell.persist_next()
        assert shell.state() == "Dead"
    shell.fail_next()
    assert shell.state() == "Empty"
    last = shell.shard.image[GROUP].metadata
    assert last is not None
    shell.persists_at_once = True
    joining = shell.join(version=3, protocols=metadata())
    shell.advance(2 * DELAY_MS)
    assert shell.joined(joining).generation_id == last.generation + 1


def test_empty_groups_change_their_kind(shell: MigrationShell) -> None:
    shell.join_group("new")
    shell.commit(5, member_id="new", generation_id=1)
    shell.beat("new", -1)
    (classic,) = shell.classic_group([[0]])
    assert (shell.state(), shell.committed()) == ("Stable", 5)
    assert shell.restart().state() == "Stable"
    shell.leave(classic)
    assert shell.assigned(shell.join_group("new")) == {"t": [0, 1, 2, 3]}
    assert shell.restart().committed() == 5
