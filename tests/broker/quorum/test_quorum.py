"""Quorums over real sockets and directories: leaders die, disks are wiped, nothing is lost."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.broker.quorum import NotLeader, OutcomeUnknown
from tests.broker.quorum.member import FAST, Members, change
from tests.support.wait import wait_until_async

PATIENT = replace(
    FAST, fetch_timeout_ms=30_000, request_timeout_ms=20_000, fetch_max_wait_ms=10_000
)
"""So long that no timeout fires during a test."""

Scenario = Callable[[Members], Awaitable[None]]


def run(members: Members, scenario: Scenario) -> None:
    async def play() -> None:
        try:
            async with asyncio.timeout(120):
                await scenario(members)
            assert not [failure for member in members.all for failure in member.failures]
        finally:
            await members.stop()

    asyncio.run(play())


def test_three_nodes_agree(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        assert leader.leaderships == [leader.quorum.epoch]
        await leader.quorum.propose([change("a", "1"), change("b", "2")])
        assert leader.state == {"a": "1", "b": "2"}
        await members.in_step()
        with pytest.raises(NotLeader):
            await members.others(leader)[0].quorum.propose([change("c")])
        await leader.quorum.read_barrier()
        with pytest.raises(NotLeader):
            await members.others(leader)[0].quorum.read_barrier()

    run(Members(tmp_path), scenario)


def test_proposals_are_committed_in_their_order(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        proposals = [leader.quorum.propose([change("x", str(n))]) for n in range(200)]
        # A node that needs the decided voters needs the uncommitted ones, too.
        assert leader.quorum.log_end_offset >= 200 > leader.quorum.high_watermark
        last = leader.quorum.propose([])
        await proposals[99]
        assert int(leader.state["x"] or "") >= 99
        await last
        assert all(proposal.done() for proposal in proposals)
        assert leader.state["x"] == "199"
        await leader.quorum.propose([])
        await members.in_step()

    run(Members(tmp_path), scenario)


def test_followers_hear_of_a_commit_at_once(tmp_path: Path) -> None:
    """Not when their fetch has waited long enough for nothing else to happen."""

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await members.in_step()
        waits_ms = []
        for number in range(20):
            began = time.perf_counter()
            await leader.quorum.propose([change("n", str(number))])
            await members.in_step()
            waits_ms.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.01)
        assert sorted(waits_ms)[10] < PATIENT.fetch_max_wait_ms / 3

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_killed_leader_is_replaced_and_what_it_committed_stays(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        for number in range(3):
            leader = await members.leader()
            epoch = leader.quorum.epoch
            await leader.quorum.propose([change(str(number))])
            await leader.kill()
            successor = await members.leader()
            assert successor.quorum.epoch > epoch
            assert str(number) in successor.state
            await successor.quorum.propose([change(f"after {number}")])
            await leader.start()
            await members.in_step()
        assert set(members[1].state) == {"0", "1", "2", "after 0", "after 1", "after 2"}

    run(Members(tmp_path), scenario)


def test_a_leader_that_is_told_to_stop_hands_over(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        began = time.perf_counter()
        stopping = asyncio.create_task(leader.stop())
        await wait_until_async(lambda: any(m.quorum.is_leader for m in members.others(leader)))
        assert time.perf_counter() - began < PATIENT.fetch_timeout_ms / 1000
        await stopping
        assert leader.leaderships[-1] is None

    run(Members(tmp_path, config=PATIENT), scenario)


def test_everybody_restarts_with_what_was_agreed(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        for number in range(20):
            await leader.quorum.propose([change(str(number))])
        epoch, cluster_id = leader.quorum.epoch, leader.quorum.cluster_id
        await members[1].kill()
        await members.stop()
        await members.start()
        leader = await members.leader()
        assert leader.quorum.epoch > epoch
        assert leader.quorum.cluster_id == cluster_id
        assert set(leader.state) == {str(number) for number in range(20)}
        await members.in_step()

    run(Members(tmp_path), scenario)


def test_without_a_majority_nothing_is_agreed(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        others = members.others(leader)
        for member in others:
            await member.kill()
        proposal = leader.quorum.propose([change("lost?")])
        await wait_until_async(proposal.done)
        assert isinstance(proposal.exception(), OutcomeUnknown)
        assert leader.leaderships[-1] is None
        assert not leader.quorum.is_leader
        assert "lost?" not in leader.state
        await others[0].start()
        leader = await members.leader()
        await leader.quorum.propose([change("b")])
        await members.in_step()

    run(Members(tmp_path), scenario)


def test_an_observer_follows(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        observer = members[4]
        assert observer.state == {"a": "v"}
        assert observer.quorum.me not in observer.quorum.voters
        assert len(observer.quorum.voters.voters) == 3
        assert observer.quorum.cluster_id == leader.quorum.cluster_id
        await observer.kill()
        await leader.kill()
        leader = await members.leader()
        await leader.quorum.propose([change("b")])
        await observer.start()
        await members.in_step()
        assert observer.state == {"a": "v", "b": "v"}

    run(Members(tmp_path, 4, voters=3), scenario)


def test_who_was_away_for_long_gets_a_snapshot(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        late = members.others(leader)[0]
        await late.kill()
        for number in range(300):
            await leader.quorum.propose([change(str(number % 70), str(number))])
        files = [path.name for path in leader.path.glob("__cluster_metadata-0/*.checkpoint")]
        assert len(files) == 1, "older ones are gone"
        assert files[0] > f"{200:020d}"
        await late.start()
        await members.in_step()
        assert late.restored
        assert late.state == leader.state
        await leader.kill()
        await late.kill()
        await leader.start()
        await late.start()
        await members.leader()
        assert late.restored, "its own, from the disk"
        await members.in_step()
        assert len(late.state) == 70

    run(Members(tmp_path, snapshot_records=40), scenario)


def test_an_idle_quorum_hardly_says_a_word(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        await members.leader()
        await members.in_step()
        await asyncio.sleep(0.3)
        calls = 0
        for member in members.all:
            call = member.peers.call

            def counted(*arguments: object, call: Callable[..., object] = call, **options: object):
                nonlocal calls
                calls += 1
                return call(*arguments, **options)

            member.peers.call = counted  # type: ignore[method-assign]
        most = 0.0
        for _ in range(20):  # a busy machine may cause an election, but not in each second
            calls, began = 0, time.perf_counter()
            await asyncio.sleep(1)
            waited_ms = (time.perf_counter() - began) * 1000
            most = 2 * waited_ms / members[1].config.fetch_max_wait_ms + 2
            if 0 < calls <= most:
                return
        raise AssertionError(f"{calls} calls, not up to {most:.0f}")

    run(Members(tmp_path), scenario)
