"""Describing the quorum and changing its voters by command, at any node."""

from pathlib import Path

from barnabas.broker.net.peers import Peers
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.vote import VoteRequest
from tests.broker.quorum.member import Member, Members, change
from tests.broker.quorum.test_formation import ASK
from tests.broker.quorum.test_quorum import run
from tests.support.wait import wait_until_async


async def ask(member: Member, request: Request, client_id: str = "a client"):
    peers = Peers(
        member.quorum.loop,
        member.quorum.clock,
        lambda _: [("127.0.0.1", member.port)],
        lambda _: None,
        client_id,
    )
    try:
        return await peers.call(1, request, request.MAX_VERSION, timeout_ms=60_000)
    finally:
        peers.close()


def test_every_node_describes_the_quorum(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        for member in members.all:
            answer = await ask(member, ASK)
            assert answer.error_code == 0
            partition = answer.topics[0].partitions[0]
            assert partition.error_code == 0
            assert partition.leader_id == leader.node_id
            assert partition.leader_epoch == leader.quorum.epoch
            assert partition.high_watermark == leader.quorum.high_watermark == leader.applied
            assert [state.replica_id for state in partition.current_voters] == [1, 2, 3]
            assert [state.replica_id for state in partition.observers] == [4]
            now_ms = member.quorum.clock.now_ms()
            for state in [*partition.current_voters, *partition.observers]:
                key = members[state.replica_id].quorum.me
                assert state.replica_directory_id == key.directory_id
                assert state.log_end_offset == leader.applied
                if state.replica_id != leader.node_id:
                    assert now_ms - 2_000 < state.last_fetch_timestamp <= now_ms
            assert [node.listeners[0].port for node in answer.nodes] == [
                other.port for other in members.all[:3]
            ]
        other = DescribeQuorumRequest([TopicData("t", [PartitionData(0)])])
        answer = await ask(leader, other)
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(Members(tmp_path, 4, voters=3), scenario)


def test_voters_come_and_go_by_command(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await members.in_step()
        observer = members[4]
        add = AddRaftVoterRequest(
            leader.quorum.cluster_id,
            5_000,
            *observer.quorum.me,
            [Listener("PLAINTEXT", "127.0.0.1", observer.port)],
        )
        follower = members.others(leader, observer)[0]
        assert (await ask(follower, add)).error_code == 0
        assert observer.quorum.me in leader.quorum.voters
        answer = await ask(follower, add)
        assert answer.error_code == ErrorCode.DUPLICATE_VOTER
        assert answer.error_message
        remove = RemoveRaftVoterRequest(leader.quorum.cluster_id, *leader.quorum.me)
        assert (await ask(follower, remove)).error_code == 0
        await wait_until_async(lambda: not leader.quorum.is_leader)
        successor = await members.leader()
        assert successor is not leader
        assert len(successor.quorum.voters.voters) == 3
        assert (await ask(successor, remove)).error_code == ErrorCode.VOTER_NOT_FOUND
        await successor.quorum.propose([change("a")])
        await members.in_step()
        assert leader.state == {"a": "v"}, "it follows as an observer"
        assert leader.quorum.me not in leader.quorum.voters, "and does not ask to vote again"

    run(Members(tmp_path, 4, voters=3), scenario)


def test_a_replica_that_does_not_follow_can_not_vote(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        add = AddRaftVoterRequest(leader.quorum.cluster_id, 100, 9, bytes(16), [])
        answer = await ask(leader, add)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        remove = RemoveRaftVoterRequest(None, 1, bytes(16))
        assert (await ask(leader, remove)).error_code == ErrorCode.VOTER_NOT_FOUND

    run(Members(tmp_path), scenario)


def test_strangers_are_refused(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        for message in (
            VoteRequest("other"),
            BeginQuorumEpochRequest("other"),
            EndQuorumEpochRequest("other"),
            FetchSnapshotRequest("other"),
            AddRaftVoterRequest("other"),
            RemoveRaftVoterRequest("other"),
        ):
            answer = await ask(leader, message)
            assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID, message
        topics = [FetchTopic(topic_id=(1).to_bytes(16, "big"), partitions=[FetchPartition()])]
        answer = await ask(leader, FetchRequest("other", topics=topics))
        assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        answer = await ask(leader, FetchRequest(topics=topics))
        assert answer.error_code == ErrorCode.INVALID_REQUEST, "no replica, but a client"
        assert leader.quorum.is_leader

    run(Members(tmp_path), scenario)
