"""How clusters begin, and how nodes with empty directories get into one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.quorum.administration import describe_quorum
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterBroker
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from tests.broker.quorum.member import Member, Members, change
from tests.broker.quorum.test_quorum import run
from tests.support.ports import free_ports
from tests.support.wait import wait_until_async

ASK = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 1, 3)])
def test_voters_may_start_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    async def scenario(members: Members) -> None:
        for node_id in order:
            assert not any(member.quorum.cluster_id for member in members.up)
            await members.start(node_id)
            await asyncio.sleep(0.15)
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        assert len({member.quorum.cluster_id for member in members.all}) == 1
        for member in members.all:
            keys = [voter.key for voter in member.quorum.voters.voters]
            assert keys == [other.quorum.me for other in members.all]

    run(Members(tmp_path), scenario)


def test_no_cluster_begins_before_all_voters_are_there(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start(1, 2)
        await asyncio.sleep(0.5)
        for member in members.up:
            assert not member.quorum.cluster_id
            answer = describe_quorum(member.quorum, ASK, may_forward=False)
            assert isinstance(answer, DescribeQuorumResponse)
            partition = answer.topics[0].partitions[0]
            assert partition.error_code == ErrorCode.BROKER_NOT_AVAILABLE
        await members[1].kill()
        await members[1].start()
        await members.start(3)
        await members.leader()

    run(Members(tmp_path), scenario)


async def is_voter_again(members: Members, wiped: Member) -> None:
    await wait_until_async(
        lambda: all(wiped.quorum.me in member.quorum.voters for member in members.up)
    )


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_wiped_voter_becomes_one_again(tmp_path: Path, node_id: int) -> None:
    """Also the one that would have founded the cluster, which it must not do again."""

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        wiped = members[node_id]
        old = wiped.quorum.me
        cluster_id = wiped.quorum.cluster_id
        await wiped.kill()
        wiped.wipe()
        await wiped.start()
        await wait_until_async(lambda: wiped.quorum.cluster_id == cluster_id)
        assert wiped.quorum.me != old
        await is_voter_again(members, wiped)
        leader = await members.leader()
        await leader.quorum.propose([change("b")])
        await members.in_step()
        for member in members.all:
            assert len(member.quorum.voters.voters) == 3
            assert old not in member.quorum.voters
        # It counts: with another one gone, it is half of the majority.
        await members.others(wiped)[0].kill()
        leader = await members.leader()
        await leader.quorum.propose([change("c")])
        assert set(leader.state) == {"a", "b", "c"}

    run(Members(tmp_path), scenario)


def test_a_wiped_founder_waits_for_somebody_who_knows(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        await members.stop()
        members[1].wipe()
        await members[1].start()
        await asyncio.sleep(0.4)
        assert not members[1].quorum.cluster_id
        await members.start(2, 3)
        await members.leader()
        await is_voter_again(members, members[1])
        await members.in_step()
        assert members[1].state == {"a": "v"}

    run(Members(tmp_path), scenario)


def test_a_crash_while_a_cluster_begins_is_mended(tmp_path: Path) -> None:
    """It knew who votes, but not that it belongs to the cluster."""

    async def scenario(members: Members) -> None:
        await members.start()
        await members.leader()
        await members.stop()
        for member in members.all:
            meta = member.path / "meta.properties"
            lines = meta.read_text().splitlines()
            kept = [line for line in lines if not line.startswith("cluster.id")]
            meta.write_text("\n".join(kept) + "\n")
            for path in (member.path / "__cluster_metadata-0").iterdir():
                if not path.name.endswith(".checkpoint"):
                    path.unlink()
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()

    run(Members(tmp_path), scenario)


def test_a_lone_node_becomes_three(tmp_path: Path) -> None:
    """Nodes that the settings name as voters ask the existing voters to add them."""

    async def scenario(members: Members) -> None:
        all_voters = members[1].voters
        members[1].voters = all_voters[:1]
        await members.start(1)
        await wait_until_async(lambda: members[1].quorum.is_leader)
        await members[1].quorum.propose([change("a")])
        await members[1].stop()
        members[1].voters = all_voters
        await members.start()
        await wait_until_async(lambda: all(len(m.quorum.voters.voters) == 3 for m in members.all))
        leader = await members.leader()
        await leader.quorum.propose([change("b")])
        await members.in_step()
        assert members[3].state == {"a": "v", "b": "v"}

    run(Members(tmp_path), scenario)


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if text in r.getMessage()]


@pytest.mark.parametrize("answers", ["leader", "follower", "observer"])
def test_a_stranger_at_the_address_of_a_voter_is_not_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answers: str
) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        followers = [m for m in members.all[:2] if m is not leader]
        found = {"leader": leader, "follower": followers[0], "observer": members[3]}[answers]
        await wait_until_async(lambda: members[3].quorum.cluster_id)
        port = free_ports(1)[0]
        named = [(7, "127.0.0.1", port), (8, "127.0.0.1", found.port)]
        lost = Member(7, port, tmp_path / "lost", named)
        await lost.start()
        try:
            where = f"127.0.0.1:{found.port} is node {found.node_id} of another cluster, not node 8"
            await wait_until_async(lambda: said(caplog, where + ": check --voters"))
            await asyncio.sleep(0.3)
            assert len(said(caplog, where)) == 1, "every few seconds, not with each question"
            assert not lost.quorum.cluster_id
            assert "cluster.id" not in (lost.path / "meta.properties").read_text()
        finally:
            await lost.stop()

    run(Members(tmp_path, voters=2), scenario)


def test_a_stranger_without_a_cluster_founds_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(members: Members) -> None:
        one, other = members.all
        one.voters = [one.voters[0], (5, *one.voters[1][1:])]
        await members.start()
        await wait_until_async(
            lambda: said(caplog, f":{other.port} is node 2, not node 5: check --voters")
        )
        assert not one.quorum.cluster_id

    run(Members(tmp_path, 2), scenario)


def test_voters_of_two_clusters_are_not_chosen_from(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(members: Members) -> None:
        for member in members.all[:2]:
            member.voters = [member.voters[member.node_id - 1]]
        await members.start(1, 2)
        await wait_until_async(lambda: all(member.quorum.is_leader for member in members.up))
        await members.start(3)
        await wait_until_async(lambda: said(caplog, "the voters are of different clusters"))
        assert not members[3].quorum.cluster_id

    run(Members(tmp_path), scenario)


def test_a_cluster_in_which_another_node_has_this_id_is_not_joined(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(members: Members) -> None:
        members[1].voters = members[1].voters[:1]
        members[1].brokers = [DescribeClusterBroker(2, "elsewhere", 9092)]
        await members.start()
        await wait_until_async(
            lambda: said(caplog, "whose node 2 is up at elsewhere:9092, not at 127.0.0.1")
        )
        assert not members[2].quorum.cluster_id
        members[1].brokers = [DescribeClusterBroker(2, *members[2].voters[1][1:])]
        await wait_until_async(lambda: members[2].quorum.cluster_id)

    run(Members(tmp_path, 2), scenario)


def test_a_member_that_is_still_reading_does_not_pass_for_a_new_node(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        await wait_until_async(lambda: members[1].quorum.is_leader)
        members[1].quorum._shell, shell = None, members[1].quorum._shell
        answer = describe_quorum(members[1].quorum, ASK, may_forward=False)
        members[1].quorum._shell = shell
        assert isinstance(answer, DescribeQuorumResponse)
        partition = answer.topics[0].partitions[0]
        assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert not partition.current_voters

    run(Members(tmp_path, 1), scenario)


def test_a_node_that_waits_for_others_can_be_stopped(tmp_path: Path) -> None:
    """At any moment of its wait, with nothing left behind that goes off later."""

    async def scenario(members: Members) -> None:
        complaints: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        for _ in range(8):
            await members.start(1)
            await asyncio.sleep(0.04)
            await members[1].stop()
        await asyncio.sleep(0.2)
        assert not complaints

    run(Members(tmp_path), scenario)
