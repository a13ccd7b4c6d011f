"""The shell around Raft: timers, disk, network, and the state machine that the log feeds."""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from random import Random

from barnabas.broker.clock import Clock
from barnabas.broker.peers import Peers
from barnabas.log import DataDirectory, Disk
from barnabas.metadata.records import MetadataRecord
from barnabas.raft import QuorumStatus, RaftConfig, VoterSet
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
)
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from barnabas.wire.messages.vote import VoteRequest, VoteResponse


class Quorum:
    """This node's part in the quorum. Everything but `executor`'s work happens on the loop."""

    def __init__(
        self,
        *,
        node_id: int,
        data: DataDirectory,
        disk: Disk,
        loop: AbstractEventLoop,
        clock: Clock,
        random: Random,
        executor: Executor,
        peers: Peers,
        voters: Sequence[tuple[int, str, int]],
        config: RaftConfig,
        on_restore: Callable[[list[MetadataRecord], int], None],
        on_commit: Callable[[list[MetadataRecord], int], None],
        on_leadership: Callable[[int | None], None],
        on_failure: Callable[[Exception], None],
        snapshot: Callable[[], list[MetadataRecord]],
        snapshot_records: int = 20_000,
    ) -> None:
        """`voters` are those named in the settings: node id, host, port; none: this node alone.

        `on_restore` gets records that replace all state, and the offset behind them. `on_commit`
        gets records (none, if only the log's own were committed) and the offset behind them.
        `on_leadership` gets the epoch once this node leads in it and everything before has been
        given to `on_commit`, and None as soon as it does not lead any more. `on_failure` is called
        once, when the replica has stopped because its disk failed: the node must stop too.
        `snapshot` gives the records that make the state as it is after the last `on_commit`.
        """
        raise NotImplementedError

    async def start(self) -> None:
        """Recover; become part of a cluster, if it is of none yet; run. Raises `StorageError`.

        The node must serve `DescribeQuorum`, `DescribeCluster` (with `cluster_id`) and the
        messages of Raft before: the voters of a new cluster ask each other who they are.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Stop, after handing leadership over if there is somebody to have it."""
        raise NotImplementedError

    # -- what is known -----------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        """Empty as long as this node belongs to none."""
        raise NotImplementedError

    @property
    def is_leader(self) -> bool:
        """Between `on_leadership(epoch)` and `on_leadership(None)`."""
        raise NotImplementedError

    @property
    def leader_id(self) -> int | None:
        raise NotImplementedError

    @property
    def epoch(self) -> int:
        raise NotImplementedError

    @property
    def high_watermark(self) -> int:
        raise NotImplementedError

    @property
    def end_offset(self) -> int:
        """Behind what the state machine has been given."""
        raise NotImplementedError

    @property
    def voters(self) -> VoterSet:
        raise NotImplementedError

    def status(self) -> QuorumStatus:
        raise NotImplementedError

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Where a voter is to be found; None if it is not known as one."""
        raise NotImplementedError

    # -- what is asked for -------------------------------------------------------------------------

    def propose(self, records: list[MetadataRecord]) -> "Future[None]":
        """Done when `records` are committed and have been given to `on_commit`.

        Without records, when all that was proposed before is. Fails with `NotLeader` or
        `OutcomeUnknown`.
        """
        raise NotImplementedError

    async def read_barrier(self) -> None:
        """Return when the state has all that was committed anywhere before this call.

        Raises `NotLeader`.
        """
        raise NotImplementedError

    # -- messages ----------------------------------------------------------------------------------

    def handle_vote(self, request: VoteRequest) -> "VoteResponse | Future[VoteResponse]":
        raise NotImplementedError

    def handle_begin_quorum_epoch(
        self, request: BeginQuorumEpochRequest
    ) -> "BeginQuorumEpochResponse | Future[BeginQuorumEpochResponse]":
        raise NotImplementedError

    def handle_end_quorum_epoch(
        self, request: EndQuorumEpochRequest
    ) -> "EndQuorumEpochResponse | Future[EndQuorumEpochResponse]":
        raise NotImplementedError

    def handle_fetch(self, request: FetchRequest) -> "FetchResponse | Future[FetchResponse]":
        """A fetch for which `is_metadata_fetch` holds."""
        raise NotImplementedError

    def handle_fetch_snapshot(
        self, request: FetchSnapshotRequest
    ) -> "FetchSnapshotResponse | Future[FetchSnapshotResponse]":
        raise NotImplementedError

    def handle_describe_quorum(
        self, request: DescribeQuorumRequest
    ) -> "DescribeQuorumResponse | Future[DescribeQuorumResponse]":
        raise NotImplementedError

    def handle_add_raft_voter(
        self, request: AddRaftVoterRequest
    ) -> "AddRaftVoterResponse | Future[AddRaftVoterResponse]":
        raise NotImplementedError

    def handle_remove_raft_voter(
        self, request: RemoveRaftVoterRequest
    ) -> "RemoveRaftVoterResponse | Future[RemoveRaftVoterResponse]":
        raise NotImplementedError
