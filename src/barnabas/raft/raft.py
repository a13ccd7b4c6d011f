"""One replica of the metadata log, as a state machine: no I/O, no clock, no randomness of its own.

    raft.receive(envelope, now_ms)            # or tick, propose, read, persisted, ...
    ready = raft.ready()                      # then, and after every such call
    # store ready.writes and, when they are fsynced, call raft.persisted(last.sequence, now_ms);
    # send ready.messages; restore ready.restore; apply ready.committed; answer ready.reads

Every call settles what follows from it, so there is nothing to call in between. `tick` is due at
`next_deadline_ms`; calling it earlier is harmless. `now_ms` never falls; clocks of different
replicas need not agree, and no promise of safety depends on time.

Replicas pull, as in Kafka: a follower's fetch carries the end of its log and so acknowledges
what it has. Pull lets the Kafka messages be used as they are, lets observers and voters be served
in the same way, and makes who lags behind set its own pace.

Left out: leases (a read costs a round of messages), witnesses, changing several voters at once.
"""

import math
from collections.abc import Callable, Sequence

from barnabas.raft import (
    election,
    fetching,
    leadership,
    membership,
    reads,
    replication,
    snapshots,
    transfer,
)
from barnabas.raft.config import RaftConfig
from barnabas.raft.deadlines import forgive_stall, next_deadline_ms, pass_time
from barnabas.raft.entry import Batch
from barnabas.raft.epochs import is_plausible
from barnabas.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    Envelope,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Message,
    Response,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.ready import Proposal, Ready, Recovered
from barnabas.raft.roles import Follower, Leader
from barnabas.raft.state import RaftState
from barnabas.raft.status import QuorumStatus, quorum_status
from barnabas.raft.voters import ReplicaKey, Voter, VoterSet
from barnabas.wire.errors import ErrorCode


class Raft:
    __slots__ = ("_state",)

    def __init__(
        self,
        me: ReplicaKey,
        *,
        config: RaftConfig,
        recovered: Recovered,
        bootstrap_voters: VoterSet,
        seeds: Sequence[int] = (),
        voters_in_snapshot: Callable[[bytes], VoterSet],
        randint: Callable[[int, int], int],
        now_ms: int,
    ) -> None:
        """`bootstrap_voters` are those the cluster began with, and empty for a replica that joins
        later: that one asks the nodes `seeds` for the leader. `voters_in_snapshot` finds the
        voters in the bytes of a snapshot; `randint` draws from both its bounds and what is between.
        """
        self._state = RaftState(
            me, config, recovered, bootstrap_voters, seeds, voters_in_snapshot, randint, now_ms
        )

    # -- what is known ---------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return isinstance(self._state.role, Leader)

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def leader_id(self) -> int | None:
        return self._state.leader_id

    @property
    def high_watermark(self) -> int:
        return self._state.high_watermark

    @property
    def log_start_offset(self) -> int:
        return self._state.log.start_offset

    @property
    def log_end_offset(self) -> int:
        return self._state.log.end_offset

    @property
    def voters(self) -> VoterSet:
        return self._state.log.voters

    def voters_at(self, end_offset: int) -> VoterSet:
        """Who voted there: to be written into a snapshot that ends there."""
        return self._state.log.voters_at(end_offset)

    def hears_majority(self, now_ms: int) -> bool:
        """Whether this leads, and a majority has fetched so lately that no other can lead."""
        return leadership.hears_majority(self._state, now_ms)

    def others_have_log(self, now_ms: int) -> bool:
        """Whether this leader's disk lacks a part of the log that a majority without it has."""
        return leadership.others_have_log(self._state, now_ms)

    @property
    def is_behind(self) -> bool:
        """Whether others have acted on entries that this replica missed, and has not applied."""
        missed_until = self._state.missed_until
        return missed_until is not None and self._state.applied_offset < missed_until

    def status(self) -> QuorumStatus:
        return quorum_status(self._state)

    # -- what happens ----------------------------------------------------------------------------

    def next_deadline_ms(self) -> int:
        return next_deadline_ms(self._state)

    def tick(self, now_ms: int) -> None:
        pass_time(self._state, now_ms)
        self._settle(now_ms)

    def stalled(self, stalled_ms: int) -> None:
        """Nothing was heard for so long because this node stood still; to be called before what
        comes next, so that no replica counts as silent for it."""
        forgive_stall(self._state, stalled_ms)

    def stood_still(self) -> None:
        """The disk took nothing for a while, so a follower has not fetched; to be called before
        what it takes now is `persisted`. A leader has missed nothing: it decides."""
        if not self.is_leader:
            self._state.missed_until = math.inf

    def persisted(self, sequence: int, now_ms: int) -> None:
        """Every write up to this one is durable."""
        self._state.writes.persisted(sequence)
        election.own_vote_persisted(self._state, now_ms)
        self._settle(now_ms)

    def unanswered(self, correlation_id: int, now_ms: int) -> None:
        """This request will not be answered: do not wait for it."""
        fetching.forget_fetch(self._state, correlation_id, now_ms)
        self._settle(now_ms)

    def disconnected(self, node_id: int, now_ms: int) -> None:
        """The connection to a node has broken; if it is the leader's, look for another soon."""
        state, role = self._state, self._state.role
        if isinstance(role, Follower):
            if role.in_flight is not None and role.in_flight.receiver == node_id:
                fetching.forget_fetch(state, role.in_flight.correlation_id, now_ms)
            if role.leader_id == node_id:
                role.lease_end_ms = None
                wait_ms = state.randint(0, state.config.election_timeout_ms // 2)
                role.deadline_ms = min(role.deadline_ms, now_ms + wait_ms)
        self._settle(now_ms)

    def receive(self, envelope: Envelope, now_ms: int) -> None:
        state, (sender, _, correlation_id, message) = self._state, envelope
        hears_leader = election.hears_leader(state, now_ms)
        if not is_plausible(message, state.epoch, hears_leader=hears_leader):
            self._refuse(sender, correlation_id, message, now_ms)
            self._settle(now_ms)
            return
        match message:
            case FetchRequest():
                replication.receive_fetch(state, sender, correlation_id, message, now_ms)
            case FetchResponse():
                fetching.receive_fetch_response(state, sender, correlation_id, message, now_ms)
            case VoteRequest():
                election.receive_vote_request(state, sender, correlation_id, message, now_ms)
            case VoteResponse():
                election.receive_vote_response(state, sender, correlation_id, message, now_ms)
            case BeginQuorumEpochRequest():
                leadership.receive_begin_quorum_epoch(
                    state, sender, correlation_id, message, now_ms
                )
            case BeginQuorumEpochResponse():
                reads.receive_begin_quorum_epoch_response(
                    state, sender, correlation_id, message, now_ms
                )
            case EndQuorumEpochRequest():
                transfer.receive_end_quorum_epoch(state, sender, correlation_id, message, now_ms)
            case EndQuorumEpochResponse():
                state.observe(message.epoch, message.leader_id, now_ms)
            case FetchSnapshotRequest():
                snapshots.receive_fetch_snapshot(state, sender, correlation_id, message, now_ms)
            case FetchSnapshotResponse():
                snapshots.receive_fetch_snapshot_response(
                    state, sender, correlation_id, message, now_ms
                )
        self._settle(now_ms)

    def _refuse(self, sender: int, correlation_id: int, message: Message, now_ms: int) -> None:
        """Do nothing about a message that can't be true."""
        state, error = self._state, ErrorCode.INVALID_REQUEST
        epoch, leader_id = state.epoch, state.leader_id
        answer: Response
        match message:
            case FetchRequest():
                answer = FetchResponse(error, epoch, leader_id)
            case VoteRequest():
                answer = VoteResponse(error, epoch, None, vote_granted=False)
            case BeginQuorumEpochRequest():
                answer = BeginQuorumEpochResponse(error, epoch, leader_id)
            case EndQuorumEpochRequest():
                answer = EndQuorumEpochResponse(error, epoch, leader_id)
            case FetchSnapshotRequest():
                answer = FetchSnapshotResponse(error, epoch, leader_id, message.snapshot_id)
            case _:
                fetching.forget_fetch(state, correlation_id, now_ms)
                return
        state.answer(sender, correlation_id, answer)

    # -- what is asked for -----------------------------------------------------------------------

    def propose(self, batch: Batch, now_ms: int) -> Proposal:
        role = self._state.role
        if not isinstance(role, Leader):
            return Proposal(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if role.transfer is not None:
            return Proposal(ErrorCode.REQUEST_TIMED_OUT)
        entry = self._state.append(batch)
        self._settle(now_ms)
        return Proposal(ErrorCode.NONE, entry.base_offset, entry.epoch)

    def read(self, token: object, now_ms: int) -> None:
        """Ask when the state shows all that was committed before now; see `Ready.reads`."""
        reads.read(self._state, token)
        self._settle(now_ms)

    def add_voter(self, voter: Voter, now_ms: int) -> Proposal:
        proposal = membership.add_voter(self._state, voter, now_ms)
        self._settle(now_ms)
        return proposal

    def remove_voter(self, key: ReplicaKey, now_ms: int) -> Proposal:
        proposal = membership.remove_voter(self._state, key)
        self._settle(now_ms)
        return proposal

    def transfer_leadership(self, target_id: int, now_ms: int) -> ErrorCode:
        """Begin to hand over; that it has happened shows in `leader_id`."""
        error = transfer.transfer_leadership(self._state, target_id, now_ms)
        self._settle(now_ms)
        return error

    def resign(self, now_ms: int) -> None:
        """Step down, if this is the leader, in favour of the replica that has most of the log."""
        if isinstance(self._state.role, Leader):
            leadership.resign(self._state, self._state.role, now_ms)
        self._settle(now_ms)

    def take_snapshot(self, end_offset: int, content: bytes) -> None:
        """`content` is the state after all before `end_offset`, an end of a committed entry."""
        snapshots.take_snapshot(self._state, end_offset, content)

    # -- what follows ----------------------------------------------------------------------------

    def _settle(self, now_ms: int) -> None:
        """Do what has become possible, in the order in which one thing leads to the next."""
        state, role = self._state, self._state.role
        if isinstance(role, Follower):
            fetching.fetch(state, role, now_ms)
        elif isinstance(role, Leader):
            replication.advance_high_watermark(state, role)
            reads.begin_round(state, role)
            replication.answer_parked(state, role, now_ms)
            transfer.hand_over_if_caught_up(state, role, now_ms)
            if state.role is role:
                membership.leave_if_removed(state, role, now_ms)

    def ready(self) -> Ready:
        """Take what there is to do."""
        state = self._state
        restore, committed = None, []
        if state.applied_offset < state.log.start_offset <= state.writes.durable_end_offset:
            restore = state.log.snapshot
            state.applied_offset = state.log.start_offset
        end_offset = replication.applicable_end_offset(state)
        if state.log.start_offset <= state.applied_offset < end_offset:
            committed = state.log.between(state.applied_offset, end_offset)
            state.applied_offset = end_offset
        return Ready(
            writes=state.writes.take(),
            messages=state.writes.release(),
            restore=restore,
            committed=committed,
            reads=reads.take_answerable(state),
        )
