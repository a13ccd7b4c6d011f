"""A quorum of one: what a single broker is."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.quorum import writer
from barnabas.broker.quorum.storage import NoRoom
from barnabas.log import Log, LogConfig, OsDisk, StorageError
from barnabas.metadata.records import encode_metadata_record
from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch
from tests.broker.quorum.member import Members, change
from tests.broker.quorum.test_quorum import PATIENT, run
from tests.support.wait import wait_until_async


def alone(path: Path, **options: Any) -> Members:
    members = Members(path, 1, **options)
    members[1].voters = []
    return members


def test_it_leads_at_once_and_commits_as_fast_as_the_disk(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        member = members[1]
        began = time.perf_counter()
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        for number in range(50):
            await member.quorum.propose([change("x", str(number))])
        assert time.perf_counter() - began < PATIENT.fetch_timeout_ms / 1000
        await member.quorum.read_barrier()
        assert member.quorum.cluster_id
        await member.kill()
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        assert member.state == {"x": "49"}

    run(alone(tmp_path, config=PATIENT), scenario)


def old_directory(path: Path, count: int) -> Path:
    """As a broker left it that was made before there were quorums."""
    (path / "__cluster_metadata-0").mkdir(parents=True)
    (path / "meta.properties").write_text("version=1\ncluster.id=old\nnode.id=1\n")
    config = LogConfig(retention_ms=-1, cleanup_policy=frozenset())
    directory = path / "__cluster_metadata-0"
    log = Log.open(OsDisk(), str(directory), config, 1)
    for number in range(count):
        batch = encode_batch([(1, None, encode_metadata_record(change(str(number))), ())])
        log.append(memoryview(batch), [(0, parse_header(batch))], 0, 1)
        log.flusher.flush()
    log.close()
    return directory


def test_a_directory_of_an_earlier_release_goes_on(tmp_path: Path) -> None:
    old_directory(tmp_path / "1", 30)

    async def scenario(members: Members) -> None:
        member = members[1]
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        assert set(member.state) == {str(number) for number in range(30)}
        assert member.quorum.cluster_id == "old"
        await member.quorum.propose([change("new")])
        for _ in range(2):
            await member.kill()
            await member.start()
            await wait_until_async(lambda: member.quorum.is_leader)
            assert len(member.state) == 31

    run(alone(tmp_path), scenario)


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    directory = old_directory(tmp_path / "1", 30)
    (directory / "log.state").unlink()
    segment = directory / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)

    async def scenario(members: Members) -> None:
        await members[1].start()
        with pytest.raises(StorageError, match="damaged at position"):
            await members[1].starting
        assert segment.read_bytes() == content

    run(alone(tmp_path), scenario)


def test_snapshots_bound_what_a_restart_reads(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        member = members[1]
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        for number in range(100):
            await member.quorum.propose([change(str(number % 7), str(number))])
        await member.kill()
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        assert len(member.restored) == 1
        assert member.restored[0] > 80
        assert member.state == {str(n % 7): str(n) for n in range(93, 100)}

    run(alone(tmp_path, snapshot_records=20), scenario)


def test_a_disk_that_fails_stops_the_replica_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        members = alone(tmp_path)
        member = members[1]
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)

        def broken(*_: object) -> None:
            raise StorageError("no more")

        member.quorum._storage.write = broken  # type: ignore[method-assign]
        proposal = member.quorum.propose([change("a")])
        await wait_until_async(lambda: member.failures)
        assert str(member.failures[0]) == "no more"
        await asyncio.sleep(0)
        assert proposal.exception() is not None
        assert member.leaderships[-1] is None
        assert not member.quorum.is_leader
        await members.stop()

    asyncio.run(play())
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


def test_a_full_disk_only_makes_proposals_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_RETRY_S", 0.01)

    async def scenario(members: Members) -> None:
        member = members[1]
        await member.start()
        await wait_until_async(lambda: member.quorum.is_leader)
        attempts = []
        write = member.quorum._storage.write

        def full(_: object) -> None:
            attempts.append(1)
            raise NoRoom("no space left")

        member.quorum._storage.write = full  # type: ignore[method-assign]
        proposals = [member.quorum.propose([change(name)]) for name in "ab"]
        await wait_until_async(lambda: len(attempts) > 3)
        assert member.quorum.is_leader
        assert member.quorum.no_room == "no space left"
        assert not any(proposal.done() for proposal in proposals)
        member.quorum._storage.write = write  # type: ignore[method-assign]
        for proposal in proposals:
            await proposal
        assert member.state.keys() == {"a", "b"}
        assert member.quorum.no_room is None
        # One that is told to stop does not wait for room.
        member.quorum._storage.write = full  # type: ignore[method-assign]
        member.quorum.propose([change("c")])
        await wait_until_async(lambda: member.quorum.no_room)

    run(alone(tmp_path), scenario)
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert said == ["the disk is full; the metadata log waits for space: no space left"] * 2
