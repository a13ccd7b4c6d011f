"""What counts as healthy, worked out from what the parts of a cluster say."""

from typing import Any

import pytest

from barnabas.cli.base.command import UsageError
from barnabas.cli.cluster.move import parse_nodes, rotate
from barnabas.cli.cluster.status_output import print_status
from barnabas.cli.cluster.status_wait import what_is_missing
from barnabas.client.admin.brokers import BrokerDescription, ClusterDescription
from barnabas.client.admin.quorum import QuorumDescription, QuorumReplica
from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from barnabas.diagnosis.missing_controller import explain
from barnabas.diagnosis.status import VoterStatus, summarize
from barnabas.wire.endpoint import Address

T0 = TopicPartition("t", 0)


def brokers(*fenced: int) -> ClusterDescription:
    nodes = [BrokerDescription(n, Address(f"h{n}", 9092), None, n in fenced) for n in (1, 2, 3)]
    return ClusterDescription("c", 1, nodes)


def quorum(*voters: int) -> QuorumDescription:
    states = [QuorumReplica(n, bytes(16), 100 - n, 5_000, 5_000 - 10 * n) for n in voters]
    return QuorumDescription(1, 7, 98, states, [])


def topic(
    replicas: list[int], isr: list[int], leader: int | None = None
) -> dict[str, TopicMetadata]:
    first = (isr or [NO_LEADER])[0]
    partition = PartitionMetadata(0, first if leader is None else leader, 0, replicas, isr, [])
    return {"t": TopicMetadata("t", 0, False, [partition])}


def status(topics: dict[str, TopicMetadata], **given: Any) -> Any:
    return summarize(
        given.get("described", brokers()),
        topics,
        given.get("quorum", quorum(1, 2, 3)),
        given.get("moving", {}),
        given.get("min_isr", {}),
        given.get("unreachable", ()),
        given.get("problem"),
    )


def test_all_is_well() -> None:
    found = status(topic([1, 2, 3], [1, 2, 3]))
    assert found.is_healthy
    assert [node.state for node in found.nodes] == ["up"] * 3
    assert [node.role for node in found.nodes] == ["voter"] * 3
    assert [node.leaders for node in found.nodes] == [1, 0, 0]
    assert [node.replicas for node in found.nodes] == [1, 1, 1]
    assert [node.is_controller for node in found.nodes] == [True, False, False]
    assert found.quorum.voters == [
        VoterStatus(1, 0, 0),
        VoterStatus(2, 1, 20),
        VoterStatus(3, 2, 30),
    ]


def test_a_fenced_node_and_one_that_only_votes_are_problems() -> None:
    found = status({}, described=brokers(2), quorum=quorum(1, 2, 9))
    assert found.problems == ["node 2 is fenced", "node 9 is not registered"]
    assert {node.node_id: node.role for node in found.nodes}[3] == "observer"


def test_a_node_that_can_not_be_reached_from_here_is_a_problem() -> None:
    found = status({}, described=brokers(2), unreachable={2, 3})
    assert found.problems == ["node 2 is fenced", "node 3 is unreachable"]


@pytest.mark.parametrize(
    ("topics", "min_isr", "problems"),
    [
        (topic([1, 2, 3], [1, 2]), {"t": 2}, ["1 partition under-replicated"]),
        (
            topic([1, 2, 3], [1]),
            {"t": 2},
            ["1 partition below min.insync.replicas", "1 partition under-replicated"],
        ),
        (
            topic([1, 2, 3], [2], NO_LEADER),
            {"t": 1},
            ["1 partition not available", "1 partition under-replicated"],
        ),
        (topic([1], [1]), {"t": 2}, ["1 partition below min.insync.replicas"]),
        (topic([1], [1], NO_LEADER), {}, ["1 partition not available"]),
    ],
)
def test_what_partitions_lack(
    topics: dict[str, TopicMetadata], min_isr: Any, problems: list[str]
) -> None:
    assert status(topics, min_isr=min_isr).problems == problems


def test_a_replica_that_is_just_being_added_is_no_problem() -> None:
    moving = {T0: Reassignment([2, 3, 1], [3], [1])}
    assert status(topic([2, 3, 1], [1, 2]), moving=moving, min_isr={"t": 1}).is_healthy
    lost = status(topic([2, 3, 1], [1]), moving=moving, min_isr={"t": 1})
    assert lost.problems == ["1 partition under-replicated"]


def test_a_wait_names_the_nodes_whose_replicas_lag() -> None:
    found = status(topic([1, 2, 3], [1, 2]))
    said = "1 partition under-replicated (replicas not in sync: 1 on node 3; such as t-0)"
    assert what_is_missing(found) == said
    assert what_is_missing(status({}, described=brokers(2))) == "node 2 is fenced"


def test_a_quorum_without_a_leader_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    found = status({}, quorum=None, problem="no leader is known")
    assert {node.role for node in found.nodes} == {None}
    assert not any(node.is_controller for node in found.nodes)
    assert found.problems == ["no controller: no leader is known"]
    print_status(found, as_json=False)
    assert capsys.readouterr().out.startswith("cluster c: no controller: ")


def test_a_partition_whose_leader_can_not_be_reached_is_not_available() -> None:
    found = status(topic([1, 2], [1, 2]), unreachable={1})
    assert found.problems == ["node 1 is unreachable", "1 partition not available"]
    assert status(topic([1, 2], [1, 2]), unreachable={2}).offline == []


@pytest.mark.parametrize(
    ("voters", "answering", "said"),
    [
        ({1, 2, 3}, {1}, "1 of 3 voters answer, 2 are needed; start node 2 or 3"),
        ({1, 2}, {1}, "1 of 2 voters answer, 2 are needed; start node 2"),
        (range(1, 6), {5}, "1 of 5 voters answer, 3 are needed; start 2 of the nodes 1, 2, 3, 4"),
        ({1, 2, 3}, {1, 3}, "2 of 3 voters answer and have not elected one yet"),
    ],
)
def test_what_a_majority_lacks(voters: set[int], answering: set[int], said: str) -> None:
    assert explain(voters, answering) == said


NEEDED = "of 3 voters answer, 2 are needed"
EMPTY = "came back with an empty directory, which can't vote"
BOTH_EMPTY = "came back with empty directories, which can't vote"
RESTORE = "restore the data of"
SEE = "or rebuild the cluster from what is left: barnabas cluster recover --data DIR"


@pytest.mark.parametrize(
    ("answering", "forgetful", "said"),
    [
        ({1}, {2}, f"1 {NEEDED}; node 2 {EMPTY}; start node 3"),
        ({1}, {2, 3}, f"1 {NEEDED}; nodes 2 and 3 {BOTH_EMPTY}; {RESTORE} node 2 or 3, {SEE}"),
        (
            set(),
            {1, 2},
            f"0 {NEEDED}; nodes 1 and 2 {BOTH_EMPTY}; start node 3; {RESTORE} node 1 or 2, {SEE}",
        ),
        ({1, 3}, {2}, "2 of 3 voters answer and have not elected one yet"),
    ],
)
def test_a_node_that_lost_its_disk_answers_and_does_not_vote(
    answering: set[int], forgetful: set[int], said: str
) -> None:
    assert explain({1, 2, 3}, answering, forgetful) == said


def test_a_voter_whose_node_came_back_with_another_disk_is_a_problem(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = quorum(1, 2, 3)
    found.observers.append(QuorumReplica(2, b"new" + bytes(13), 50, 5_000, -1))
    seen = status({}, quorum=found)
    assert seen.problems == ["voter 2 came back with an empty directory, which has no vote yet"]
    print_status(seen, as_json=False)
    assert "empty directory\n" in capsys.readouterr().out


def test_a_voter_that_has_long_been_behind_is_a_problem() -> None:
    late = quorum(1, 2)
    late.voters[1] = late.voters[1]._replace(last_caught_up_timestamp=1, last_fetch_timestamp=1)
    late.voters[0] = late.voters[0]._replace(last_caught_up_timestamp=8_001)
    assert status({}, quorum=late).problems == ["voter 2 is 8 s behind"]


def test_troubled_partitions_are_shown_with_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    moving = {T0: Reassignment([2, 3, 1], [3], [1])}
    print_status(status(topic([2, 3, 1], [1]), moving=moving, min_isr={"t": 2}), as_json=False)
    shown = capsys.readouterr().out
    assert "t-0" in shown
    assert "below min.insync.replicas=2, moving to 3 from 1" in shown


def test_a_partition_that_can_never_be_written_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(status(topic([2], [2]), min_isr={"t": 2}), as_json=False)
    *_, row = capsys.readouterr().out.splitlines()
    assert row.split(maxsplit=4) == ["t-0", "2", "2", "2", "below min.insync.replicas=2"]


def test_nodes_to_move_to() -> None:
    assert parse_nodes("3, 1,2") == [3, 1, 2]
    for wrong in ("", "1,,2", "a", "1,1", "-1"):
        with pytest.raises(UsageError):
            parse_nodes(wrong)


def test_a_single_partition_gets_what_was_asked_for_and_several_take_turns() -> None:
    several = [TopicPartition("t", index) for index in range(4)]
    assert rotate(several[:1], [3, 1, 2]) == {several[0]: [3, 1, 2]}
    assert [replicas[0] for replicas in rotate(several, [3, 1, 2]).values()] == [3, 1, 2, 3]
    assert all(sorted(replicas) == [1, 2, 3] for replicas in rotate(several, [3, 1, 2]).values())
