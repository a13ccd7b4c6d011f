"""A node that comes back after changes of the voters does not know where the leader is.

Its settings do not name the leader's node, and its log is from before that node voted.
"""

from pathlib import Path

from barnabas.broker.quorum.membership import change_voters
from barnabas.raft import Raft, ReplicaKey, Voter
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.errors import ErrorCode
from tests.broker.quorum.member import Member, Members
from tests.broker.quorum.test_quorum import run
from tests.support.wait import wait_until_async

_PATIENCE_MS = 60_000


async def add(members: Members, joining: Member) -> None:
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", joining.port)
    voter = Voter(joining.quorum.me, (endpoint,))
    shell = (await members.leader()).quorum.shell
    assert shell is not None
    error = await change_voters(
        shell, lambda raft, now_ms: raft.add_voter(voter, now_ms), _PATIENCE_MS
    )
    assert error is ErrorCode.NONE


async def remove(members: Members, leaving: Member) -> None:
    key: ReplicaKey = leaving.quorum.me
    leader = await members.leader()
    shell = leader.quorum.shell
    assert shell is not None
    error = await change_voters(
        shell, lambda raft, now_ms: raft.remove_voter(key, now_ms), _PATIENCE_MS
    )
    assert error is ErrorCode.NONE


def known_voters(member: Member) -> list[int]:
    return [key.node_id for key in member.quorum.voters.keys]


def raft_of(member: Member) -> Raft:
    assert member.quorum.shell is not None
    return member.quorum.shell.raft


def test_a_node_that_asks_for_votes_is_told_where_the_leader_is(tmp_path: Path) -> None:
    """By a node that does not vote any more either."""

    async def scenario(members: Members) -> None:
        await members.start()
        await members.leader()
        await members.in_step()
        late = members[2]
        await late.kill()
        await add(members, members[4])
        for leaving in (late, members[1], members[3]):
            await remove(members, leaving)
        assert await members.leader() is members[4]
        await members.in_step()
        await late.start()
        await wait_until_async(lambda: late.quorum.shell is not None)
        assert known_voters(late) == [1, 2, 3]
        await wait_until_async(
            lambda: late.quorum.leader_id == 4 and known_voters(late) != [1, 2, 3]
        )
        await members.in_step()

    run(Members(tmp_path, 4, voters=3), scenario)


def test_a_new_leader_tells_voters_where_it_is(tmp_path: Path) -> None:
    """The node still votes, and no other node that it knows is left."""

    async def scenario(members: Members) -> None:
        await members.start()
        await members.leader()
        await members.in_step()
        late = members[3]
        await late.kill()
        await add(members, members[4])
        await add(members, members[5])
        for leaving in (members[1], members[2]):
            await remove(members, leaving)
            await members.leader()
            await leaving.stop()
        await late.start()
        await wait_until_async(lambda: late.quorum.shell is not None)
        assert known_voters(late) == [1, 2, 3]
        await wait_until_async(lambda: known_voters(late) == [3, 4, 5])
        await members.in_step()
        assert raft_of(late).leader_id in {4, 5}

    run(Members(tmp_path, 5, voters=3), scenario)
