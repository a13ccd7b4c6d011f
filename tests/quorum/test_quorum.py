"""Quorums over real sockets and directories: leaders die, disks are wiped, nothing is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas.broker.quorum import NotLeader
from tests.quorum.member import Member, Members, change, until

Scenario = Callable[[Members], Awaitable[None]]


def run(members: Members, scenario: Scenario) -> None:
    async def play() -> None:
        try:
            async with asyncio.timeout(30):
                await scenario(members)
            assert not [failure for member in members.all for failure in member.failures]
        finally:
            await members.stop()

    asyncio.run(play())


def test_three_nodes_form_a_cluster_and_agree(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a", "1"), change("b", "2")])
        assert leader.state == {"a": "1", "b": "2"}
        await members.in_step()
        assert members[1].state == {"a": "1", "b": "2"}
        assert len({member.quorum.cluster_id for member in members.all}) == 1
        assert members[1].quorum.cluster_id
        for member in members.all:
            assert [voter.key for voter in member.quorum.voters.voters] == [
                other.quorum.me for other in members.all
            ]
        with pytest.raises(NotLeader):
            await members.others(leader)[0].quorum.propose([change("c")])

    run(Members(tmp_path), scenario)
