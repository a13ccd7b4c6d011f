"""This node's replica of the quorum: the interface for the node, and for other nodes."""

import logging
from asyncio import AbstractEventLoop, Future, sleep
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from random import Random

from barnabas.broker.net.listener import OPEN
from barnabas.broker.net.peers import Peers
from barnabas.broker.quorum.addresses import Addresses, NamedVoter
from barnabas.broker.quorum.checkpoint import check_checkpoint
from barnabas.broker.quorum.formation import Formation
from barnabas.broker.quorum.membership import Joining, remove_replaced
from barnabas.broker.quorum.messages import RaftRequest, decode_request, encode_response, refuse
from barnabas.broker.quorum.messages.endpoints import add_node_endpoint, leader_endpoints
from barnabas.broker.quorum.outcome import NotLeader, QuorumStopped
from barnabas.broker.quorum.rejoining import INSTEAD, NO_OTHER_VOTER, begin_again
from barnabas.broker.quorum.shell import RaftShell
from barnabas.broker.quorum.state_machine import Callbacks
from barnabas.broker.quorum.storage import MetadataDamaged, QuorumStorage
from barnabas.broker.quorum.voter_probe import Answer, VoterProbe, probe_voters
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.loop_stalls import LoopStalls
from barnabas.log import DataDirectory, Disk, StorageError
from barnabas.log.errors import storage_errors
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.metadata.records import MetadataRecord
from barnabas.metrics.histogram import DELAYS_S, Histogram
from barnabas.raft import QuorumStatus, Raft, RaftConfig, Recovered, ReplicaKey, Voter, VoterSet
from barnabas.raft import messages as raft_messages
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

logger = logging.getLogger(__name__)

_PROBE_PAUSE_S = 1.0


class Quorum:
    """Disk access runs in `executor`, everything else on the event loop."""

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
        listener: str = OPEN.name,
        on_restore: Callable[[list[MetadataRecord], int], None],
        on_commit: Callable[[list[MetadataRecord], int], None],
        on_leadership: Callable[[int | None], None],
        on_failure: Callable[[Exception], None],
        snapshot: Callable[[], list[MetadataRecord]],
        on_leader_change: Callable[[], None] = lambda: None,
        snapshot_records: int = 20_000,
    ) -> None:
        """`voters` are those named in the settings: node id, host, port; none: this node alone.
        `listener` is the name of the inter-broker listener.

        `on_restore` gets records that replace all state, and the offset behind them. `on_commit`
        gets records (none, if only the log's own were committed) and the offset behind them.
        `on_leadership` gets the epoch once this node leads in it and everything before has been
        given to `on_commit`, and None as soon as it does not lead any more. `on_leader_change` is
        called when `leader_id` or `epoch` has changed. `on_failure` is called once, when the
        replica has stopped because its disk failed: the node must stop too. (One that is full has
        not failed: everything waits until there is room.) `snapshot` gives the records that make
        the state as it is after the last `on_commit`.
        """
        self.loop = loop
        self.clock = clock
        self.stalls = LoopStalls(loop, clock)
        self.write_times = Histogram(DELAYS_S)
        """Of writes to the metadata log, each with its sync."""
        self.peers = peers
        self.me = ReplicaKey(node_id, data.quorum_directory_id)
        self._data = data
        self._random = random
        self._executor = executor
        self._listener = listener
        self._named = [NamedVoter(*voter, listener) for voter in voters]
        self.config = config
        self._snapshot_records = snapshot_records
        self._callbacks = Callbacks(
            on_restore, on_commit, on_leadership, on_leader_change, on_failure, snapshot
        )
        self._storage = QuorumStorage(disk, data.partition_path(CLUSTER_METADATA, 0), clock)
        self._addresses = Addresses(self._named, listener)
        self._shell: RaftShell | None = None

    async def start(self) -> None:
        """Recover; join or found a cluster, if it is in none yet; run. Raises `StorageError`.

        The node must serve `DescribeQuorum`, `DescribeCluster` (with `cluster_id`) and the
        messages of Raft before: the voters of a new cluster ask each other who they are.
        """
        run = self.loop.run_in_executor
        try:
            recovered = await run(self._executor, self._storage.open)
            await self._belong_to_a_cluster()
        except MetadataDamaged as error:
            if self._is_named_alone:
                raise StorageError(f"{error}; {NO_OTHER_VOTER}") from error
            if self._data.cluster_id:
                await self._find_another_voter(error)
            recovered = await run(self._executor, self._begin_again, error)
            if not self._data.cluster_id:
                await self._belong_to_a_cluster()
        bootstrap_voters = await self.loop.run_in_executor(
            self._executor, self._storage.bootstrap_voters
        )
        self._run(recovered, bootstrap_voters or VoterSet())

    async def _belong_to_a_cluster(self) -> None:
        run = self.loop.run_in_executor
        if not self._data.cluster_id:
            formation = Formation(self.me, self._named, self.peers, self.loop, self._random)
            membership = await formation.run()
            # In this order: a directory that belongs to a cluster knows who voted at its beginning.
            await run(self._executor, self._storage.begin_cluster, membership.voters)
            await run(self._executor, self._join, membership.cluster_id)
            logger.info(
                "this node is in cluster %s, as %s",
                membership.cluster_id,
                "a voter" if membership.voters.voters else "an observer",
            )
        elif not self._is_named_alone:
            self._storage.refuse_amnesia()
        elif not self._storage.has_checkpoint():
            # A log from when a broker was always alone; or the cluster's id was given.
            voter = Voter(self.me)
            for named in self._named:
                voter = named.voter(self.me.directory_id)
            await run(self._executor, self._storage.begin_cluster, VoterSet((voter,)))

    async def _find_another_voter(self, damage: MetadataDamaged) -> None:
        """Wait until another voter of the cluster tells that it is one: if this node were the only
        voter, what is left of its metadata would be all that there is of the cluster."""
        me = Answer(self.me, self._data.cluster_id)
        ids = {voter.node_id for voter in self._named}
        is_told = False
        while True:
            probe = await probe_voters(me, ids, self.peers)
            for answer in probe.answers.values():
                others = {key.node_id for key in answer.voters} - {self.me.node_id}
                if answer.cluster_id == me.cluster_id and others:
                    return
            if not is_told:
                is_told = True
                logger.error("%s; waiting for another voter. If none is left, %s", damage, INSTEAD)
            await sleep(_PROBE_PAUSE_S)

    def _begin_again(self, damage: MetadataDamaged) -> Recovered:
        """Raises `StorageError`."""
        recovered = begin_again(self._data, self._storage, self._random.randbytes(16), damage)
        self.me = ReplicaKey(self.me.node_id, self._data.quorum_directory_id)
        return recovered

    @property
    def _is_named_alone(self) -> bool:
        return {voter.node_id for voter in self._named} <= {self.me.node_id}

    def _join(self, cluster_id: str) -> None:
        with storage_errors("can not write down which cluster this is"):
            self._data.join_cluster(cluster_id)

    def _run(self, recovered: Recovered, bootstrap_voters: VoterSet) -> None:
        raft = Raft(
            self.me,
            config=self.config,
            recovered=recovered,
            bootstrap_voters=bootstrap_voters,
            seeds=[voter.node_id for voter in self._named],
            voters_in_snapshot=check_checkpoint,
            randint=self._random.randint,
            now_ms=self.clock.steady_ms(),
        )
        self._shell = RaftShell(
            raft,
            node_id=self.me.node_id,
            cluster_id=self.cluster_id,
            loop=self.loop,
            clock=self.clock,
            executor=self._executor,
            storage=self._storage,
            peers=self.peers,
            config=self.config,
            stalls=self.stalls,
            write_times=self.write_times,
            callbacks=self._callbacks,
            snapshot_records=self._snapshot_records,
            on_tick=self._on_tick,
            on_endpoint=self._addresses.hear,
            own_endpoint=self._own_endpoint,
        )
        self.stalls.start()
        self._shell.run()
        named = next((voter for voter in self._named if voter.node_id == self.me.node_id), None)
        Joining(self._shell, self.me, named, self.cluster_id, self.peers, self.loop).begin()

    def _on_tick(self) -> None:
        if self._shell is not None:
            remove_replaced(self._shell, self.me, self.config)

    async def close(self) -> None:
        """Stop, after handing leadership over if another node can lead."""
        self.stalls.stop()
        if self._shell is None:
            # Queued behind what the start may still be running there.
            await self.loop.run_in_executor(self._executor, self._storage.abandon)
            return
        await self._shell.stop()
        try:
            await self.loop.run_in_executor(self._executor, self._storage.close)
        except StorageError as error:
            logger.error("the next start has to scan the metadata: %s", error)

    # -- state -------------------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        """Empty until this node belongs to a cluster."""
        return self._data.cluster_id

    @property
    def shell(self) -> RaftShell | None:
        """None before there is a cluster, and again when the replica has stopped."""
        return None if self._shell is None or self._shell.is_stopped else self._shell

    @property
    def is_leader(self) -> bool:
        """Between `on_leadership(epoch)` and `on_leadership(None)`."""
        return self._shell is not None and self._shell.led_epoch is not None

    @property
    def leader_id(self) -> int | None:
        return None if self.shell is None else self.shell.raft.leader_id

    @property
    def epoch(self) -> int:
        return 0 if self._shell is None else self._shell.raft.epoch

    @property
    def high_watermark(self) -> int:
        return 0 if self._shell is None else self._shell.raft.high_watermark

    @property
    def log_end_offset(self) -> int:
        """The offset behind everything proposed here, committed or not."""
        return 0 if self._shell is None else self._shell.raft.log_end_offset

    @property
    def end_offset(self) -> int:
        """The offset behind what the state machine has applied."""
        return 0 if self._shell is None else self._shell.state_machine.end_offset

    @property
    def voters(self) -> VoterSet:
        return VoterSet() if self._shell is None else self._shell.raft.voters

    @property
    def no_room(self) -> str | None:
        """The error of a full disk, while writes are retried; None otherwise."""
        return None if self._shell is None else self._shell.no_room

    @property
    def hears_majority(self) -> bool:
        """Whether this node leads, and no other can have been elected without its knowledge."""
        return self._shell is not None and self._shell.raft.hears_majority(self._shell.steady_ms())

    @property
    def should_leave_full_disk(self) -> bool:
        """Whether this leader has no room for what a majority without it has room for.

        If the others have none either, no vote of theirs could be stored, and there would be no
        controller at all: this one still answers heartbeats, and goes on once there is room. A
        leader that could not even store that it leads is no controller (`is_leader` is False), and
        leaves as well.
        """
        if self._shell is None or self.no_room is None:
            return False
        return self._shell.raft.others_have_log(self._shell.steady_ms())

    @property
    def is_stuck(self) -> bool:
        """Whether a full disk keeps this replica from learning what the others decide."""
        return self.no_room is not None and not self.is_leader

    @property
    def lacks_decisions(self) -> bool:
        """Whether others may act on decisions that a full disk has kept from this replica.

        Room on the disk is not enough: what was decided meanwhile has yet to be fetched.
        """
        return self.is_stuck or (self._shell is not None and self._shell.raft.is_behind)

    @property
    def clock_lead_ms(self) -> int:
        """How far this node's clock is ahead of the controller's."""
        return 0 if self._shell is None else self._shell.cluster_time.lead_ms

    def status(self) -> QuorumStatus:
        if self._shell is None:
            return QuorumStatus(0, None, 0, [], [])
        return self._shell.raft.status()

    async def probe_voters(self) -> VoterProbe:
        """Ask the voters who they are."""
        keys = self.voters.keys
        ids = [key.node_id for key in keys] or [voter.node_id for voter in self._named]
        return await probe_voters(Answer(self.me, self.cluster_id, keys), ids, self.peers)

    def addresses_of(self, node_id: int) -> list[tuple[str, int]]:
        """The addresses that a voter may have, the likeliest first; none if it is not known."""
        return self._addresses.of(node_id, self.voters)

    def _own_endpoint(self) -> Endpoint | None:
        at = self.peers.address_of(self.me.node_id)
        return None if at is None else Endpoint(self._listener, *at)

    # -- proposals ---------------------------------------------------------------------------------

    def propose(self, records: list[MetadataRecord]) -> "Future[None]":
        """Done when `records` are committed and have been given to `on_commit`.

        Without records, when all that was proposed before is. Fails with `NotLeader` or
        `OutcomeUnknown`.
        """
        if self._shell is None:
            outcome: Future[None] = self.loop.create_future()
            outcome.set_exception(NotLeader("this node has not joined a cluster yet"))
            outcome.exception()
            return outcome
        return self._shell.propose(records)

    def resign(self) -> None:
        """Resign, in favour of the voter with the longest log."""
        if self.shell is not None:
            self.shell.step(lambda raft, now_ms: raft.resign(now_ms))

    async def read_barrier(self) -> None:
        """Return when everything committed before this call is applied here.

        Raises `NotLeader` or `QuorumStopped`.
        """
        if self._shell is None:
            raise NotLeader("this node has not joined a cluster yet")
        await self._shell.read()

    async def replayed(self, offset: int) -> None:
        """Return when everything before `offset` is applied here. Raises `QuorumStopped`."""
        if self.shell is None:
            raise QuorumStopped("this node takes no part in the quorum")
        await self.shell.replayed(offset)

    # -- messages of replicas ----------------------------------------------------------------------

    def handle(self, request: RaftRequest) -> "Response | Future[Response]":
        """Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, and the Fetch of the metadata."""
        shell = self.shell
        if shell is None:
            return refuse(request, ErrorCode.BROKER_NOT_AVAILABLE)
        if request.cluster_id is not None and request.cluster_id != self.cluster_id:
            return refuse(request, ErrorCode.INCONSISTENT_CLUSTER_ID)
        asked = decode_request(request)
        if asked is None:
            return refuse(request, ErrorCode.INVALID_REQUEST)
        self._addresses.hear_of(asked[0], leader_endpoints(request))
        response: Future[Response] = self.loop.create_future()
        answer = shell.ask(*asked)

        def respond(done: "Future[raft_messages.Response]") -> None:
            if done.cancelled():
                response.cancel()
            elif not response.done():
                response.set_result(self._encode(done.result()))

        def abandon(done: "Future[Response]") -> None:
            if done.cancelled():
                answer.cancel()

        answer.add_done_callback(respond)
        response.add_done_callback(abandon)
        return response

    handle_fetch = handle
    """For a Fetch of which `is_metadata_fetch` holds."""

    def _encode(self, message: raft_messages.Response) -> Response:
        response = encode_response(message)
        leader_id = message.leader_id
        if leader_id is not None and leader_id != self.me.node_id:
            # A node that is referred to the leader may not know its address.
            at = self.peers.address_of(leader_id)
            if at is not None:
                add_node_endpoint(response, leader_id, *at)
        return response
