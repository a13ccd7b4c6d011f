"""Everything a replica knows, and the few ways in which its epoch and its role change.

Invariants: the epoch never falls; in one epoch a replica votes for at most one candidate; the
high watermark never falls and is never beyond the log's end; nothing before it is truncated;
`applied_offset` is not beyond the high watermark, nor beyond what is durable here.
"""

from collections.abc import Callable, Sequence

from barnabas.raft.config import RaftConfig
from barnabas.raft.entry import Body, Entry
from barnabas.raft.log import RaftLog
from barnabas.raft.messages import Envelope, FetchResponse, Message
from barnabas.raft.ready import ElectionState, ReadOutcome, Recovered
from barnabas.raft.roles import Follower, Leader, Role
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.raft.writes import Writes
from barnabas.wire.errors import ErrorCode


class RaftState:
    __slots__ = (
        "_last_correlation_id",
        "applied_offset",
        "config",
        "epoch",
        "high_watermark",
        "log",
        "me",
        "missed_until",
        "randint",
        "read_outcomes",
        "role",
        "seeds",
        "voted_for",
        "voters_in_snapshot",
        "writes",
    )

    def __init__(
        self,
        me: ReplicaKey,
        config: RaftConfig,
        recovered: Recovered,
        bootstrap_voters: VoterSet,
        seeds: Sequence[int],
        voters_in_snapshot: Callable[[bytes], VoterSet],
        randint: Callable[[int, int], int],
        now_ms: int,
    ) -> None:
        self.me = me
        self.config = config
        self.seeds = tuple(seeds)
        self.voters_in_snapshot = voters_in_snapshot
        self.randint = randint
        self.epoch, self.voted_for = recovered.election
        self.log = RaftLog(recovered.snapshot, recovered.entries, bootstrap_voters)
        self.high_watermark = self.log.start_offset
        self.applied_offset = 0
        self.writes = Writes(self.log.end_offset)
        self.missed_until: float | None = None
        """The end of what others have decided while this replica could not follow; infinite until
        the leader says how far that is."""
        self.read_outcomes: list[ReadOutcome] = []
        self._last_correlation_id = 0
        # A single voter does not wait for others.
        is_alone = self.log.voters.keys == (me,)
        deadline_ms = now_ms if is_alone else self.election_deadline_ms(now_ms)
        self.role: Role = Follower(None, deadline_ms)

    # -- time ----------------------------------------------------------------------------------

    def election_deadline_ms(self, now_ms: int) -> int:
        """Drawn, so that candidates seldom get in each other's way."""
        timeout_ms = self.config.election_timeout_ms
        return now_ms + self.randint(timeout_ms, 2 * timeout_ms)

    def fetch_deadline_ms(self, now_ms: int) -> int:
        timeout_ms = self.config.fetch_timeout_ms
        return now_ms + self.randint(timeout_ms, timeout_ms * 5 // 4)

    # -- messages ------------------------------------------------------------------------------

    @property
    def next_correlation_id(self) -> int:
        return self._last_correlation_id + 1

    def ask(self, receiver: int, message: Message) -> int:
        """Send a request, and return its correlation id."""
        self._last_correlation_id += 1
        self.answer(receiver, self._last_correlation_id, message)
        return self._last_correlation_id

    def answer(self, receiver: int, correlation_id: int, message: Message) -> None:
        self.writes.hold(Envelope(self.me.node_id, receiver, correlation_id, message))

    # -- what is known -------------------------------------------------------------------------

    @property
    def is_voter(self) -> bool:
        return self.me in self.log.voters

    @property
    def may_stand(self) -> bool:
        """Whether it stands for election when there is no leader.

        Voters do, and who was one before a change that may still be uncommitted: if the leader
        that removed itself is the only one to have that entry, no other can be elected. As a
        leader it does not count itself.
        """
        if self.is_voter:
            return True
        changed_at = self.log.voters_offset
        return changed_at >= self.high_watermark and self.me in self.log.voters_at(changed_at)

    @property
    def leader_id(self) -> int | None:
        match self.role:
            case Leader():
                return self.me.node_id
            case Follower(leader_id=leader_id):
                return leader_id
            case _:
                return None

    # -- changes -------------------------------------------------------------------------------

    def append(self, body: Body) -> Entry:
        """A leader's way to write."""
        entry = Entry(self.log.end_offset, self.epoch, body)
        self.log.append(entry)
        self.writes.appended(entry)
        return entry

    def elect(self, epoch: int, voted_for: ReplicaKey | None) -> None:
        self.epoch, self.voted_for = epoch, voted_for
        self.writes.elected(ElectionState(epoch, voted_for))

    def observe(self, epoch: int, leader_id: int | None, now_ms: int) -> None:
        """A message says that this epoch exists and who leads in it: greater epochs win.

        That a replica follows a leader does not prove that the leader is alive: there is no lease.
        A message that names this replica as leader, though it no longer leads, means nothing.
        """
        if leader_id == self.me.node_id:
            leader_id = None
        if epoch > self.epoch:
            self.elect(epoch, None)
            self.follow(leader_id, now_ms)
        elif epoch == self.epoch and leader_id is not None and self.leader_id is None:
            self.follow(leader_id, now_ms)

    def follow(self, leader_id: int | None, now_ms: int) -> None:
        """Be a follower in this epoch, of `leader_id` or of no leader yet."""
        if isinstance(self.role, Leader):
            self._give_back(self.role)
        if leader_id is None:
            self.role = Follower(None, self.election_deadline_ms(now_ms))
        else:
            self.role = Follower(leader_id, self.fetch_deadline_ms(now_ms))

    def _give_back(self, leader: Leader) -> None:
        """Answer the requests that wait for a leader that has stepped down."""
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        tokens = leader.waiting_reads + [token for token, _ in leader.confirmed_reads]
        tokens += leader.round.tokens if leader.round else []
        self.read_outcomes += (ReadOutcome(token, error) for token in tokens)
        for key, progress in leader.progress.items():
            if progress.parked is not None:
                self.answer(
                    key.node_id,
                    progress.parked.correlation_id,
                    FetchResponse(error, self.epoch, None),
                )
