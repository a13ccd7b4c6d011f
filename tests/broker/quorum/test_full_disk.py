"""A leader whose disk is full: it gives leadership away only to voters that have room."""

from pathlib import Path

import pytest

from barnabas.broker.quorum import writer
from barnabas.broker.quorum.storage import NoRoom
from barnabas.raft import Entry, Write
from tests.broker.quorum.member import Member, Members, change
from tests.broker.quorum.test_quorum import PATIENT, run
from tests.support.wait import wait_until_async


def fill(member: Member) -> None:
    def full(_: object) -> None:
        raise NoRoom("no space left")

    member.quorum._storage.write = full  # type: ignore[method-assign]


def fill_for_entries(member: Member) -> None:
    write = member.quorum._storage.write

    def full(writes: list[Write]) -> None:
        if any(isinstance(each.change, Entry) for each in writes):
            raise NoRoom("no space left")
        write(writes)

    member.quorum._storage.write = full  # type: ignore[method-assign]


def leads_without_room(member: Member) -> bool:
    shell = member.quorum.shell
    return shell is not None and shell.raft.is_leader and member.quorum.no_room is not None


def make_room(member: Member) -> None:
    del member.quorum._storage.write


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_RETRY_S", 0.01)


def test_a_full_leader_leaves_if_a_majority_of_the_others_has_room(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        fill(leader)
        proposal = leader.quorum.propose([change("b")])
        await wait_until_async(lambda: leader.quorum.should_leave_full_disk)
        assert leader.quorum.no_room == "no space left"
        leader.quorum.resign()
        proposal.exception() if proposal.done() else proposal.cancel()
        others = members.others(leader)
        await wait_until_async(lambda: any(each.quorum.is_leader for each in others))
        (chosen,) = [each for each in others if each.quorum.is_leader]
        await chosen.quorum.propose([change("c")])
        assert {"a", "b", "c"} <= chosen.state.keys()
        assert not leader.quorum.should_leave_full_disk
        make_room(leader)
        await members.in_step()

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_full_leader_stays_if_the_others_became_full_after_it(tmp_path: Path) -> None:
    """What they could store before says nothing about now."""

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        fill(leader)
        first = leader.quorum.propose([change("b")])
        await wait_until_async(lambda: leader.quorum.should_leave_full_disk)
        for member in members.others(leader):
            fill(member)
        second = leader.quorum.propose([change("c")])
        assert not leader.quorum.should_leave_full_disk
        await wait_until_async(lambda: all(each.quorum.no_room for each in members.all))
        assert not leader.quorum.should_leave_full_disk
        for member in members.all:
            make_room(member)
        await first
        await second
        await members.in_step()

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_leader_without_room_to_begin_leaves(tmp_path: Path) -> None:
    """It has stored its vote, and has no room for the entry that makes it the controller."""

    async def scenario(members: Members) -> None:
        await members.start()
        former = await members.leader()
        for member in members.all:  # votes fit, entries do not
            fill_for_entries(member)
        former.quorum.resign()
        await wait_until_async(lambda: any(map(leads_without_room, members.others(former))))
        (leader,) = filter(leads_without_room, members.all)
        assert not leader.quorum.is_leader
        assert not leader.quorum.should_leave_full_disk
        for member in members.others(leader):
            make_room(member)
        await wait_until_async(lambda: leader.quorum.should_leave_full_disk)
        leader.quorum.resign()
        others = members.others(leader)
        await wait_until_async(lambda: any(each.quorum.is_leader for each in others))
        make_room(leader)
        await members.in_step()

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_full_leader_stays_if_a_voter_that_it_needs_is_gone(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        fill(leader)
        proposal = leader.quorum.propose([change("b")])
        await wait_until_async(lambda: leader.quorum.should_leave_full_disk)
        await members.others(leader)[0].kill()
        await wait_until_async(lambda: not leader.quorum.should_leave_full_disk)
        make_room(leader)
        await proposal

    run(Members(tmp_path), scenario)


def test_a_full_leader_stays_if_the_others_are_full_too(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        for member in members.all:
            fill(member)
        proposal = leader.quorum.propose([change("b")])
        await wait_until_async(lambda: all(each.quorum.no_room for each in members.all))
        assert leader.quorum.is_leader
        assert not leader.quorum.should_leave_full_disk
        one = members.others(leader)[0]
        make_room(one)  # which is no majority without the leader
        await wait_until_async(lambda: one.quorum.no_room is None)
        assert not leader.quorum.should_leave_full_disk
        make_room(leader)
        await proposal  # it goes on where it was
        assert leader.quorum.is_leader
        for member in members.others(leader, one):
            make_room(member)
        await members.in_step()

    run(Members(tmp_path, config=PATIENT), scenario)


def test_room_on_the_disk_is_not_yet_knowledge_of_what_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others act on it: a broker that believes in its old metadata would lead what they lead."""
    lacked: list[bool] = []

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        full = members.others(leader)[0]
        fill(full)
        await leader.quorum.propose([change("b")])
        await wait_until_async(lambda: full.quorum.no_room is not None)
        await leader.quorum.propose([change("c")])
        assert full.quorum.lacks_decisions
        has_room = writer.Writer._has_room

        def watched(self: writer.Writer) -> None:
            had_none = self.no_room is not None
            has_room(self)
            if had_none:
                lacked.append(full.quorum.lacks_decisions)

        monkeypatch.setattr(writer.Writer, "_has_room", watched)
        make_room(full)
        await wait_until_async(lambda: not full.quorum.lacks_decisions)
        assert {"a", "b", "c"} <= full.state.keys()
        assert lacked == [True]

    run(Members(tmp_path, config=PATIENT), scenario)
