"""The shell around the state machine of Raft: clock, disk and network on one side of it, the
metadata on the other.

After every call of Raft comes `_pump`: writes go to the disk, messages to their receivers, and what
is committed to the metadata, in this order. Callbacks may propose again; that is handled after the
current output.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from barnabas.broker.net.peers import Peers, PeerTimedOut, PeerUnavailable
from barnabas.broker.quorum.cluster_time import ClusterTime
from barnabas.broker.quorum.messages import decode_response, encode_request, is_of_another_cluster
from barnabas.broker.quorum.messages.endpoints import add_leader_endpoints, node_endpoints
from barnabas.broker.quorum.outcome import NotLeader, OutcomeUnknown, QuorumStopped
from barnabas.broker.quorum.proposals import Proposals
from barnabas.broker.quorum.state_machine import Callbacks, StateMachine
from barnabas.broker.quorum.storage import QuorumStorage
from barnabas.broker.quorum.writer import Writer
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.loop_stalls import NOTICED_MS, LoopStalls
from barnabas.log import StorageError
from barnabas.metadata.records import MetadataRecord, encode_metadata_record
from barnabas.metrics.histogram import Histogram
from barnabas.raft import Batch, BrokenInvariant, Envelope, Raft, RaftConfig, ReadOutcome, Ready
from barnabas.raft import messages as raft_messages
from barnabas.records.encode import encode_batch
from barnabas.records.errors import RecordsError
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

_LANE = "raft"
_FETCH_LANE = "raft-fetch"
"""Fetches are long polls: votes must not wait behind them."""
_HAND_OVER_TIMEOUT_MS = 500
_HEAR_FIRST_S = 0.01


class RaftShell:
    def __init__(
        self,
        raft: Raft,
        *,
        node_id: int,
        cluster_id: str,
        loop: AbstractEventLoop,
        clock: Clock,
        executor: Executor,
        storage: QuorumStorage,
        peers: Peers,
        config: RaftConfig,
        stalls: LoopStalls,
        callbacks: Callbacks,
        write_times: Histogram,
        snapshot_records: int,
        on_tick: Callable[[], None],
        on_endpoint: Callable[[int, str, int], None],
        own_endpoint: Callable[[], Endpoint | None],
    ) -> None:
        """`on_tick` is called after every timer tick, `on_endpoint` with a node's address that
        another node has reported. `own_endpoint` is where other nodes reach this one, if known."""
        self.raft = raft
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._loop = loop
        self._clock = clock
        self._peers = peers
        self._config = config
        self._stalls = stalls
        self._stalled_ms = stalls.total_ms()
        self._callbacks = callbacks
        self._on_tick = on_tick
        self._on_endpoint = on_endpoint
        self._own_endpoint = own_endpoint
        self._writer = Writer(
            loop,
            executor,
            storage,
            raft.stood_still,
            self._durable,
            self._failed,
            clock,
            write_times,
        )
        self.state_machine = StateMachine(callbacks, snapshot_records)
        self.cluster_time = ClusterTime(clock)
        self._proposals = Proposals(loop)
        self._asked: dict[int, Future[Any]] = {}
        """Pending requests of other nodes, by their number in Raft."""
        self._last_asked = 0
        self._strangers: set[int] = set()
        self._reads: dict[Future[None], None] = {}
        self._replays: dict[Future[None], int] = {}
        """Who waits until the metadata has been applied here, and how far."""
        self._ends: dict[Future[Any], None] = {}
        """Announcements of this node's resignation that are in flight."""
        self._timer: TimerHandle | None = None
        self._timer_ms = 0
        self._has_heard_first = False
        self._now_ms = 0
        self._pumping = False
        self._pump_again = False
        self._known_leader: tuple[int | None, int] = (None, -1)
        self.led_epoch: int | None = None
        """The epoch in which this node has reported its leadership."""
        self.is_stopped = False

    def run(self) -> None:
        self.step(lambda raft, now_ms: raft.tick(now_ms))

    @property
    def no_room(self) -> str | None:
        """The error of the full disk, until it has room again."""
        return self._writer.no_room

    def steady_ms(self) -> int:
        self._now_ms = max(self._now_ms, self._clock.steady_ms())
        return self._now_ms

    # -- requests to Raft --------------------------------------------------------------------------

    def step(self, action: Callable[[Raft, int], ResultT]) -> ResultT:
        """Run `action` on Raft, and process its output. Raises `QuorumStopped`."""
        if self.is_stopped:
            raise QuorumStopped("the quorum has stopped")
        stalled_ms, self._stalled_ms = self._stalled_ms, self._stalls.total_ms()
        if self._stalled_ms > stalled_ms:
            self.raft.stalled(self._stalled_ms - stalled_ms)
        try:
            result = action(self.raft, self.steady_ms())
        except BrokenInvariant as error:
            self._failed(error)
            raise QuorumStopped(str(error)) from error
        self._pump()
        return result

    def ask(self, sender: int, message: raft_messages.Request) -> "Future[Any]":
        """Pass on another replica's message; returns Raft's response. Raises `QuorumStopped`."""
        self._last_asked += 1
        number = self._last_asked
        answer: Future[Any] = self._loop.create_future()
        self._asked[number] = answer
        answer.add_done_callback(lambda _: self._asked.pop(number, None))
        envelope = Envelope(sender, self._node_id, number, message)
        self.step(lambda raft, now_ms: raft.receive(envelope, now_ms))
        return answer

    def propose(self, records: list[MetadataRecord]) -> "Future[None]":
        if self.led_epoch is None or self.is_stopped:
            return self._refuse(NotLeader("this node does not lead the quorum"))
        if records:
            time_ms = self._clock.now_ms()
            rows = [(time_ms, None, encode_metadata_record(record), ()) for record in records]
            batch = Batch(bytes(encode_batch(rows)), len(records))
            # Not pumped before the future is there: its entry must not be committed unseen.
            proposal = self.raft.propose(batch, self.steady_ms())
            if proposal.error_code is not ErrorCode.NONE:
                return self._refuse(NotLeader("this node hands its leadership over"))
        outcome = self._proposals.add(self.raft.log_end_offset)
        if not records:
            self._proposals.committed(self.state_machine.end_offset)
        self._pump()
        return outcome

    def committed(self) -> "Future[None]":
        """Done when everything this leader has written so far is committed."""
        if self.led_epoch is None:
            return self._refuse(OutcomeUnknown("this node does not lead any more"))
        outcome = self._proposals.add(self.raft.log_end_offset)
        self._proposals.committed(self.state_machine.end_offset)
        return outcome

    def read(self) -> "Future[None]":
        outcome: Future[None] = self._loop.create_future()
        self._reads[outcome] = None
        outcome.add_done_callback(self._reads.pop)
        self.step(lambda raft, now_ms: raft.read(outcome, now_ms))
        return outcome

    def replayed(self, offset: int) -> "Future[None]":
        """Done when everything before `offset` is applied here."""
        outcome: Future[None] = self._loop.create_future()
        self._replays[outcome] = offset
        outcome.add_done_callback(self._replays.pop)
        self._tell_replayed()
        return outcome

    def _tell_replayed(self) -> None:
        end_offset = self.state_machine.end_offset
        for outcome, offset in self._replays.items():
            if offset <= end_offset and not outcome.done():
                outcome.set_result(None)

    def _refuse(self, error: Exception) -> "Future[None]":
        outcome: Future[None] = self._loop.create_future()
        outcome.set_exception(error)
        outcome.exception()
        return outcome

    # -- output of Raft ----------------------------------------------------------------------------

    def _pump(self) -> None:
        self._pump_again = True
        if self._pumping:
            return
        self._pumping = True
        is_whole = False
        try:
            while self._pump_again and not self.is_stopped:
                self._pump_again = False
                self._deal_with(self.raft.ready())
            is_whole = True
        except StorageError as error:
            is_whole = True
            self._failed(error)
        finally:
            self._pumping = False
            if not is_whole:  # a bug: the error goes on to where bugs are reported
                self._failed(RuntimeError("what is agreed could not be followed"))
        self._arm()

    def _has_other_voters(self) -> bool:
        return len(self.raft.voters.voters) > 1

    def _deal_with(self, ready: Ready) -> None:
        if ready.writes:
            self._writer.add(ready.writes)
        for envelope in ready.messages:
            self._send(envelope)
        if ready.restore is not None:
            self.state_machine.restore(ready.restore)
        if ready.committed:
            stamped_ms = self.state_machine.apply(ready.committed)
            is_own = ready.committed[-1].epoch == self.led_epoch
            if stamped_ms is not None and not (is_own and self._has_other_voters()):
                self.cluster_time.applied(stamped_ms)
            if is_own:
                self._proposals.committed(self.state_machine.end_offset)
        if self._replays:
            self._tell_replayed()
        if self.led_epoch is not None and not self._leads_in(self.led_epoch):
            self.led_epoch = None
            self._callbacks.on_leadership(None)
            self._proposals.fail(lambda: OutcomeUnknown("leadership was lost before the commit"))
        if self.led_epoch is None and self._has_begun_to_lead(ready):
            self.led_epoch = self.raft.epoch
            self._callbacks.on_leadership(self.led_epoch)
        for outcome in ready.reads:
            _answer_read(outcome)
        known_leader = self.raft.leader_id, self.raft.epoch
        if known_leader != self._known_leader:
            self._known_leader = known_leader
            self._callbacks.on_leader_change()
        if self.state_machine.is_snapshot_due:
            end_offset = self.state_machine.end_offset
            voters = self.raft.voters_at(end_offset)
            content = self.state_machine.take_snapshot(voters, self._clock.now_ms())
            self.raft.take_snapshot(end_offset, content)
            self._pump_again = True

    def _leads_in(self, epoch: int) -> bool:
        return self.raft.is_leader and self.raft.epoch == epoch

    def _has_begun_to_lead(self, ready: Ready) -> bool:
        """Whether an entry of this leader's epoch has been applied, and so everything before it."""
        return bool(
            self.raft.is_leader and ready.committed and ready.committed[-1].epoch == self.raft.epoch
        )

    # -- messages ----------------------------------------------------------------------------------

    def _send(self, envelope: Envelope) -> None:
        message = envelope.message
        if isinstance(message, raft_messages.Request):
            self._call(envelope, message)
            return
        answer = self._asked.get(envelope.correlation_id)
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _call(self, envelope: Envelope, message: raft_messages.Request) -> None:
        request = encode_request(message, self._cluster_id)
        if isinstance(request, BeginQuorumEpochRequest):
            add_leader_endpoints(request, self._own_endpoint())
        is_fetch = isinstance(
            message, raft_messages.FetchRequest | raft_messages.FetchSnapshotRequest
        )
        answer = self._peers.call(
            envelope.receiver,
            request,
            request.MAX_VERSION,
            timeout_ms=self._config.request_timeout_ms,
            lane=_FETCH_LANE if is_fetch else _LANE,
        )
        answer.add_done_callback(lambda answer: self._answered(envelope, answer, is_fetch))
        if isinstance(message, raft_messages.EndQuorumEpochRequest):
            self._ends[answer] = None
            answer.add_done_callback(self._ends.pop)

    def _answered(self, envelope: Envelope, answer: "Future[Response]", is_fetch: bool) -> None:
        if answer.cancelled():
            return
        node_id, number = envelope.receiver, envelope.correlation_id
        error = answer.exception()  # always retrieved, so that asyncio does not warn
        if self.is_stopped:
            return
        if isinstance(error, PeerTimedOut):
            self.step(lambda raft, now_ms: raft.unanswered(number, now_ms))
        elif isinstance(error, PeerUnavailable):
            if is_fetch:  # one fetch is always in flight to the leader
                self.step(lambda raft, now_ms: raft.disconnected(node_id, now_ms))
        else:
            try:
                self._receive(node_id, number, answer.result())
            except RecordsError as flaw:
                logger.warning("node %d sent metadata that can't be read: %s", node_id, flaw)

    def _receive(self, node_id: int, number: int, response: Response) -> None:
        for at in node_endpoints(response):
            self._on_endpoint(*at)
        message = decode_response(response)
        if message is not None:
            reply = Envelope(node_id, self._node_id, number, message)
            self.step(lambda raft, now_ms: raft.receive(reply, now_ms))
        elif is_of_another_cluster(response) and node_id not in self._strangers:
            self._strangers.add(node_id)
            logger.error(
                "node %d does not belong to cluster %s; check --data and --voters",
                node_id,
                self._cluster_id,
            )

    # -- disk and clock ----------------------------------------------------------------------------

    def _durable(self, sequence: int) -> None:
        if not self.is_stopped:
            self.step(lambda raft, now_ms: raft.persisted(sequence, now_ms))

    def _arm(self) -> None:
        """Schedule `tick` in time; a timer that fires early only checks again."""
        if self.is_stopped:
            return
        deadline_ms = self.raft.next_deadline_ms()
        if self._timer is not None:
            if self._timer_ms <= deadline_ms:
                return
            self._timer.cancel()
        wait_ms = max(deadline_ms - self.steady_ms(), 1)
        self._timer_ms = deadline_ms
        self._timer = self._loop.call_at(self._loop.time() + wait_ms / 1000, self._tick)

    def _tick(self) -> None:
        if not self._has_heard_first and self.steady_ms() >= self._timer_ms + NOTICED_MS:
            # Timers run before sockets: a message of a silent node may already have arrived.
            self._has_heard_first = True
            self._timer = self._loop.call_at(self._loop.time() + _HEAR_FIRST_S, self._tick)
            return
        self._has_heard_first = False
        self._timer = None
        self.step(lambda raft, now_ms: raft.tick(now_ms))
        if not self.is_stopped:
            self._on_tick()

    # -- stop --------------------------------------------------------------------------------------

    def _failed(self, error: Exception) -> None:
        if not self.is_stopped:
            logger.critical("the metadata log has stopped: %s", error)
            self._stop()
            self._callbacks.on_failure(error)

    def _stop(self) -> None:
        self.is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self.led_epoch is not None:
            self.led_epoch = None
            self._callbacks.on_leadership(None)
        self._proposals.fail(lambda: QuorumStopped("the quorum has stopped"))
        for answer in self._asked.values():
            answer.cancel()
        for waiting in (*self._reads, *self._replays):
            if not waiting.done():
                waiting.set_exception(QuorumStopped("the quorum has stopped"))
                waiting.exception()  # retrieved here, as whoever waits may be gone

    async def stop(self) -> None:
        """Hand leadership over, if another node can lead, and let pending writes finish."""
        if not self.is_stopped:
            self.step(lambda raft, now_ms: raft.resign(now_ms))
            if self._ends:
                await self._announced()
        if not self.is_stopped:
            self._stop()
        await self._writer.stop()

    async def _announced(self) -> None:
        """Wait until the other nodes know that this node no longer leads, or do not answer."""
        done: Future[None] = self._loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def heard(_: "Future[Any]") -> None:
            if not self._ends:
                finish()

        timer = self._loop.call_later(_HAND_OVER_TIMEOUT_MS / 1000, finish)
        for announcement in list(self._ends):
            announcement.add_done_callback(heard)
        await done
        timer.cancel()


def _answer_read(outcome: ReadOutcome) -> None:
    answer = outcome.token
    assert isinstance(answer, Future)
    if answer.done():
        return
    if outcome.error_code is ErrorCode.NONE:
        answer.set_result(None)
    else:
        answer.set_exception(NotLeader("this node does not lead the quorum"))
