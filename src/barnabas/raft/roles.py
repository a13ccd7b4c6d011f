"""What a replica can be, and what it knows while it is that; forgotten with the role.

    Follower --silence--> Prospective --majority would vote--> Candidate --majority votes--> Leader
       ^                       |                                  |                             |
       +---- a leader, a greater epoch, or for a leader: no majority, a successor, removed -----+

A follower without a leader is what Kafka calls unattached. A replica that is not a voter stays a
follower.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.raft.entry import OffsetAndEpoch
from barnabas.raft.messages import FetchRequest
from barnabas.raft.voters import ReplicaKey, VoterSet


class InFlight(NamedTuple):
    """The fetch that is under way, of entries or of a snapshot."""

    correlation_id: int
    receiver: int
    give_up_ms: int


@dataclass(slots=True)
class Download:
    """A snapshot of which the beginning has arrived."""

    snapshot_id: OffsetAndEpoch
    content: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Follower:
    leader_id: int | None
    deadline_ms: int
    """When it gives up on the leader, or on waiting for one."""
    lease_end_ms: int | None = None
    """Until then it votes for no other replica, as it has heard from the leader."""
    in_flight: InFlight | None = None
    fetch_after_ms: int = 0
    is_in_doubt: bool = False
    """Whether its last fetch was not answered: the next asks the leader not to wait with it."""
    forgiven_ms: int = 0
    """How much of the leader's silence counts for nothing, as this node stood still itself."""
    download: Download | None = None


@dataclass(slots=True)
class Prospective:
    """Asks for pre-votes in the current epoch, before it disturbs the others with a new one."""

    deadline_ms: int
    first_correlation_id: int
    granted: set[ReplicaKey] = field(default_factory=set)


@dataclass(slots=True)
class Candidate:
    deadline_ms: int
    first_correlation_id: int
    granted: set[ReplicaKey] = field(default_factory=set)
    """It is in here itself only once its own vote is durable."""


class ParkedFetch(NamedTuple):
    correlation_id: int
    request: FetchRequest
    expires_ms: int


@dataclass(slots=True)
class Progress:
    """What a leader knows of another replica, voter or not."""

    last_fetch_ms: int
    acknowledged: int = -1
    """Its log is durable and the same as the leader's up to there."""
    parked: ParkedFetch | None = None


@dataclass(slots=True)
class ReadRound:
    """Reads that wait for a majority to say that this is still the leader."""

    first_correlation_id: int
    """Only answers to questions asked since then count."""
    read_offset: int
    voters: VoterSet
    """Who voted when it began: any later leader needs one of their majority."""
    tokens: list[object]
    confirmed: set[ReplicaKey]


class Transfer(NamedTuple):
    """Nothing is appended until the target has the whole log, or time is up."""

    target: ReplicaKey
    deadline_ms: int


@dataclass(slots=True)
class Leader:
    epoch_start_offset: int
    check_ms: int
    progress: dict[ReplicaKey, Progress]
    """Others only. Every voter is in it."""
    waiting_reads: list[object] = field(default_factory=list)
    round: ReadRound | None = None
    confirmed_reads: list[tuple[object, int]] = field(default_factory=list)
    """Reads with the offset that must be applied before they are answered."""
    transfer: Transfer | None = None


Role = Follower | Prospective | Candidate | Leader
