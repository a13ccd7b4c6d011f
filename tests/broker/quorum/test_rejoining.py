"""Voters whose metadata is lost or damaged begin again as other voters, and never vote twice."""

import asyncio
import json
import shutil
from collections.abc import Callable
from errno import EIO
from pathlib import Path

import pytest

from barnabas.broker.quorum.storage import MetadataDamaged, QuorumStorage
from barnabas.broker.runtime.clock import Clock
from barnabas.log import OsDisk, StorageError
from barnabas.wire.primitives import WireError
from tests.broker.quorum.member import Member, Members, change
from tests.broker.quorum.test_quorum import run
from tests.support.wait import wait_until_async

COUNT = 40


def metadata(member: Member) -> Path:
    return member.path / "__cluster_metadata-0"


def segment(member: Member) -> Path:
    return min(metadata(member).glob("*.log"))


def flipped(member: Member) -> None:
    data = bytearray(segment(member).read_bytes())
    data[len(data) // 2] ^= 1
    segment(member).write_bytes(data)


def truncated(member: Member) -> None:
    data = segment(member).read_bytes()
    segment(member).write_bytes(data[: len(data) // 2])


def no_segment(member: Member) -> None:
    segment(member).unlink()


def no_vote(member: Member) -> None:
    (metadata(member) / "quorum-state").unlink()


def torn_vote(member: Member) -> None:
    (metadata(member) / "quorum-state").write_bytes(b'{"leaderId":')


def no_directory(member: Member) -> None:
    shutil.rmtree(metadata(member))


async def filled(members: Members) -> Member:
    """Returns a follower, which is killed."""
    await members.start()
    leader = await members.leader()
    for number in range(COUNT):
        await leader.quorum.propose([change(str(number))])
    await members.in_step()
    follower = next(member for member in members.all if member is not leader)
    await follower.kill()
    return follower


@pytest.mark.parametrize(
    "damage", [flipped, truncated, no_segment, no_vote, torn_vote, no_directory]
)
def test_it_votes_again_as_another_replica(
    tmp_path: Path, damage: Callable[[Member], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(members: Members) -> None:
        follower = await filled(members)
        before = follower.quorum.me
        damage(follower)
        await follower.start()
        await follower.starting
        assert follower.quorum.me.node_id == before.node_id
        assert follower.quorum.me != before
        keys = {member.quorum.me for member in members.all}
        await wait_until_async(lambda: set((members.all[0]).quorum.voters.keys) == keys)
        leader = await members.leader()
        await leader.quorum.propose([change("more")])
        await members.in_step()
        assert len(follower.state) == COUNT + 1
        assert follower.data.directory_id == before.directory_id, "its partitions are intact"
        me = follower.quorum.me
        await follower.kill()
        await follower.start()
        await follower.starting
        assert follower.quorum.me == me, "the next start goes on as the same"

    run(Members(tmp_path), scenario)
    assert "the metadata of this node is damaged" in caplog.text
    assert list(tmp_path.rglob("__cluster_metadata-0.0-stray")), "the damaged log is kept"


def test_a_majority_that_has_forgotten_decides_nothing(tmp_path: Path) -> None:
    """The only voter that is left may lack what the two others had decided."""

    async def scenario(members: Members) -> None:
        follower = await filled(members)
        other = next(member for member in members.all if member is not follower)
        await other.kill()
        for member in (follower, other):
            no_directory(member)
            await member.start()
            await member.starting
        await asyncio.sleep(members.all[0].config.fetch_timeout_ms / 1000 * 3)
        assert all(member.quorum.leader_id is None for member in (follower, other))
        assert not any(member.quorum.is_leader for member in members.all)

    run(Members(tmp_path), scenario)


def test_a_lone_voter_is_told_that_there_is_no_other(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        member = members[1]
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        await member.quorum.propose([change("a")])
        await member.kill()
        torn_vote(member)
        before = sorted(path.name for path in metadata(member).iterdir())
        await member.start()
        with pytest.raises(StorageError, match="there is no other voter to fetch it from"):
            await member.starting
        assert sorted(path.name for path in metadata(member).iterdir()) == before

    members = Members(tmp_path, 1)
    members[1].voters = []
    run(members, scenario)


def test_metadata_is_kept_until_another_voter_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The settings name others, but this node may be the only voter that is left."""

    async def scenario(members: Members) -> None:
        follower = await filled(members)
        others = [member for member in members.all if member is not follower]
        for other in others:
            await other.kill()
        torn_vote(follower)
        before = follower.data.quorum_directory_id
        await follower.start()
        await wait_until_async(lambda: "waiting for another voter" in caplog.text)
        assert not list(tmp_path.rglob("*-stray"))
        assert follower.data.quorum_directory_id == before
        await others[0].start()
        await follower.starting
        assert follower.data.quorum_directory_id != before

    run(Members(tmp_path), scenario)


def test_a_vote_in_a_newer_format_is_no_damage(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        follower = await filled(members)
        state = metadata(follower) / "quorum-state"
        newer = json.loads(state.read_text()) | {"data_version": 2, "crc": 7}  # by its own rules
        state.write_text(json.dumps(newer))
        await follower.start()
        with pytest.raises(StorageError, match="newer release"):
            await follower.starting
        assert json.loads(state.read_text()) == newer

    run(Members(tmp_path), scenario)


@pytest.mark.parametrize("cause", [OSError(EIO, "input/output error"), WireError("newer release")])
def test_a_failing_disk_and_a_newer_release_are_no_damage(
    tmp_path: Path, cause: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError(str(cause)) from cause

    monkeypatch.setattr(QuorumStorage, "_latest_snapshot", fail)
    with pytest.raises(StorageError) as failed:
        QuorumStorage(OsDisk(), str(tmp_path), Clock()).open()
    assert not isinstance(failed.value, MetadataDamaged)
