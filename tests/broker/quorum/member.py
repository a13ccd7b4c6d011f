"""Members of a quorum in one event loop: real sockets, real directories, and no broker around."""

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from barnabas.broker.handlers import (
    add_raft_voter,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    fetch_snapshot,
    remove_raft_voter,
    vote,
)
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import Dispatcher, RequestContext, Route
from barnabas.broker.net.peers import Peers, peer_client_id
from barnabas.broker.quorum import Quorum, is_metadata_fetch
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, OsDisk
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.raft import RaftConfig
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.messages.metadata_records import ConfigRecord
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.vote import VoteRequest
from tests.support.ports import free_ports
from tests.support.wait import wait_until_async

FAST = RaftConfig(
    fetch_timeout_ms=500, election_timeout_ms=100, request_timeout_ms=300, fetch_max_wait_ms=150
)


def change(name: str, value: str = "v") -> ConfigRecord:
    return ConfigRecord(2, "t", name, value)


def _fetch(member: "Member", request: FetchRequest, _: RequestContext) -> Any:
    assert is_metadata_fetch(request)
    return member.quorum.handle_fetch(request)


def _describe_cluster(
    member: "Member", request: DescribeClusterRequest, _: RequestContext
) -> DescribeClusterResponse:
    return DescribeClusterResponse(cluster_id=member.quorum.cluster_id, brokers=member.brokers)


ROUTES: list[Route[Any]] = [
    Route(FetchRequest, _fetch),
    Route(DescribeClusterRequest, _describe_cluster),
    Route(VoteRequest, vote.handle),
    Route(BeginQuorumEpochRequest, begin_quorum_epoch.handle),
    Route(EndQuorumEpochRequest, end_quorum_epoch.handle),
    Route(FetchSnapshotRequest, fetch_snapshot.handle),
    Route(DescribeQuorumRequest, describe_quorum.handle),
    Route(AddRaftVoterRequest, add_raft_voter.handle),
    Route(RemoveRaftVoterRequest, remove_raft_voter.handle),
]


class Member:
    """One node. What is agreed is a dict here, from the names to the values of config records."""

    def __init__(
        self,
        node_id: int,
        port: int,
        path: Path,
        voters: list[tuple[int, str, int]],
        config: RaftConfig = FAST,
        snapshot_records: int = 20_000,
    ) -> None:
        self.node_id = node_id
        self.port = port
        self.path = path
        self.voters = voters
        self.config = config
        self.snapshot_records = snapshot_records
        self.is_up = False
        self.brokers: list[DescribeClusterBroker] = []
        self.image = MetadataImage()
        self.lost: list[int] = []
        self.failures: list[Exception] = []

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        clock = Clock()
        random = Random()
        self.state: dict[str, str | None] = {}
        self.applied = 0
        self.restored: list[int] = []
        self.leaderships: list[int | None] = []
        self.connections: list[Connection] = []
        self.data = DataDirectory.open(
            OsDisk(),
            str(self.path),
            node_id=self.node_id,
            new_cluster_id="",
            new_directory_id=random.randbytes(16),
        )
        self.executor = ThreadPoolExecutor(1, "quorum")
        self.peers = Peers(
            loop, clock, self.addresses_of, self.lost.append, peer_client_id(self.node_id)
        )
        self.quorum = Quorum(
            node_id=self.node_id,
            data=self.data,
            disk=OsDisk(),
            loop=loop,
            clock=clock,
            random=random,
            executor=self.executor,
            peers=self.peers,
            voters=self.voters,
            config=self.config,
            on_restore=self.on_restore,
            on_commit=self.on_commit,
            on_leadership=self.leaderships.append,
            on_failure=self.failures.append,
            snapshot=self.snapshot,
            snapshot_records=self.snapshot_records,
        )
        self.limits = ConnectionLimits(loop, BrokerConfig({}))
        dispatch = Dispatcher(self, ROUTES).dispatch

        def connected() -> Connection:
            self.connections.append(Connection(dispatch, self.limits))
            return self.connections[-1]

        self.server = await loop.create_server(connected, "127.0.0.1", self.port)
        self.is_up = True
        self.starting = loop.create_task(self.quorum.start())

    def addresses_of(self, node_id: int) -> list[tuple[str, int]]:
        return self.quorum.addresses_of(node_id)

    def on_restore(self, records: list[MetadataRecord], end_offset: int) -> None:
        self.state = {}
        self.restored.append(end_offset)
        self.on_commit(records, end_offset)

    def on_commit(self, records: list[MetadataRecord], end_offset: int) -> None:
        assert end_offset > self.applied
        self.applied = end_offset
        for record in records:
            assert isinstance(record, ConfigRecord)
            self.state[record.name] = record.value

    def snapshot(self) -> list[MetadataRecord]:
        return [ConfigRecord(2, "t", name, value) for name, value in self.state.items()]

    async def stop(self) -> None:
        """As a process does that is told to."""
        self.starting.cancel()
        await asyncio.gather(self.starting, return_exceptions=True)
        await self.quorum.close()
        await self._vanish()

    async def kill(self) -> None:
        """As `kill -9` does: others notice only the closed connections."""
        self.starting.cancel()
        shell = self.quorum.shell
        if shell is not None:
            shell._stop()
        await self._vanish()
        self.quorum._storage.abandon()

    async def _vanish(self) -> None:
        self.is_up = False
        self.peers.close()
        self.server.close()
        for connection in self.connections:
            connection.abort()
        await asyncio.sleep(0.01)
        self.executor.shutdown(wait=True)
        self.limits.close()
        self.data.close()

    def wipe(self) -> None:
        shutil.rmtree(self.path)


class Members:
    """A cluster of them, ids from 1 on; the first `voters` are the named voters."""

    def __init__(self, path: Path, count: int = 3, voters: int | None = None, **options: Any):
        ports = free_ports(count)
        named = [(n + 1, "127.0.0.1", ports[n]) for n in range(count if voters is None else voters)]
        self.all = [
            Member(n + 1, ports[n], path / str(n + 1), named, **options) for n in range(count)
        ]

    def __getitem__(self, node_id: int) -> Member:
        return self.all[node_id - 1]

    @property
    def up(self) -> list[Member]:
        return [member for member in self.all if member.is_up]

    async def start(self, *node_ids: int) -> None:
        for member in self.all:
            if not node_ids or member.node_id in node_ids:
                await member.start()

    async def stop(self) -> None:
        for member in self.up:
            await member.stop()

    def others(self, *members: Member) -> list[Member]:
        return [member for member in self.all if member not in members]

    async def leader(self) -> Member:
        """The one that leads and that all who are up follow."""

        def found() -> list[Member]:
            return [
                member
                for member in self.up
                if member.quorum.is_leader
                and {other.quorum.leader_id for other in self.up} == {member.node_id}
            ]

        await wait_until_async(lambda: len(found()) == 1)
        return found()[0]

    async def in_step(self) -> None:
        """Until all who are up have applied the same."""
        await wait_until_async(lambda: len({member.applied for member in self.up}) == 1)
        states = [member.state for member in self.up]
        assert all(state == states[0] for state in states)
