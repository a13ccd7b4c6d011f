"""A node shows a change that was made through it, whichever node leads."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.quorum import catch_up as module
from barnabas.broker.quorum.administration import describe_quorum
from barnabas.broker.quorum.catch_up import catch_up
from barnabas.broker.quorum.describe import CONFIRMED_QUESTION, METADATA_QUESTION
from tests.broker.quorum.member import Members, change
from tests.broker.quorum.test_quorum import PATIENT, run


def test_every_node_shows_what_was_committed_before(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        for number in range(20):
            await leader.quorum.propose([change("x", str(number))])
            for member in members.all:
                await catch_up(member.quorum)
                assert member.state["x"] == str(number)

    run(Members(tmp_path), scenario)


def test_a_leader_without_a_majority_does_not_say_what_is_committed(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("x")])
        others = members.others(leader)
        for other in others:
            await other.kill()
        at_once = describe_quorum(leader.quorum, METADATA_QUESTION, may_forward=False)
        assert not isinstance(at_once, asyncio.Future)
        confirmed = describe_quorum(leader.quorum, CONFIRMED_QUESTION, may_forward=False)
        assert isinstance(confirmed, asyncio.Future)
        done, _ = await asyncio.wait([confirmed], timeout=0.3)
        assert not done
        for other in others:
            await other.start()
        answer = await confirmed
        assert answer.topics[0].partitions[0].high_watermark >= leader.applied

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_node_that_can_not_catch_up_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_MAX_WAIT_S", 0.1)

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        for other in members.others(leader):
            await other.kill()
        await catch_up(leader.quorum)

    run(Members(tmp_path, config=PATIENT), scenario)
    assert "has not replayed after 0.1 s" in caplog.text
