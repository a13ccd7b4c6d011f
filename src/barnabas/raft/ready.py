"""What comes out of the state machine, and what it starts from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.raft.entry import Entry, Snapshot
from barnabas.raft.messages import Envelope
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.errors import ErrorCode


class ElectionState(NamedTuple):
    """Kafka's `quorum-state` file: the epoch, and who has this replica's vote in it."""

    epoch: int = 0
    voted_for: ReplicaKey | None = None


class Truncate(NamedTuple):
    """Drop every entry that ends behind `end_offset`."""

    end_offset: int


class Write(NamedTuple):
    """One change of what is on disk.

    An `Entry` is appended. A `Snapshot` is stored, and once it is durable, entries before its end
    may be dropped. Writes become durable in their order: what survives a crash is a prefix.
    """

    sequence: int
    change: ElectionState | Truncate | Snapshot | Entry


class ReadOutcome(NamedTuple):
    """The answer to `Raft.read`: look at the state now, or ask the leader."""

    token: object
    error_code: ErrorCode


@dataclass(slots=True)
class Ready:
    """In the order in which to deal with it; only the writes may take their time.

    `writes` are to be made durable and then reported with `Raft.persisted`. `messages` may be sent
    at once: what depends on a write is held back until that is durable. `restore` replaces the
    state, `committed` is applied to it, and `reads` are answered from what it is then.
    """

    writes: list[Write]
    messages: list[Envelope]
    restore: Snapshot | None
    committed: list[Entry]
    reads: list[ReadOutcome]


class Recovered(NamedTuple):
    """What was on disk: the latest snapshot, and the entries, of which some may be before it."""

    election: ElectionState = ElectionState()
    snapshot: Snapshot | None = None
    entries: Sequence[Entry] = ()


class Proposal(NamedTuple):
    """Whether something was appended to the log, and where.

    It is committed when `Ready.committed` has an entry of this epoch at this offset, and it is
    lost when another entry takes its place. A leader that steps down does not know which.
    """

    error_code: ErrorCode
    base_offset: int = -1
    epoch: int = -1
