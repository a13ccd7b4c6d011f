"""What the log is made of: batches, each with an offset per record and the epoch of its leader.

An entry's identity is its epoch and its base offset: only one leader exists in an epoch, and it
never writes twice to one offset. So two logs that agree on one entry agree on all before it.
"""

from typing import NamedTuple

from barnabas.raft.voters import VoterSet


class Batch(NamedTuple):
    """Records of the state machine, as opaque bytes."""

    payload: bytes
    record_count: int = 1


class LeaderChange(NamedTuple):
    """The first entry of each epoch: what makes the entries of earlier epochs committable."""

    leader_id: int


Body = Batch | LeaderChange | VoterSet
"""On disk, a `LeaderChange` and a `VoterSet` are Kafka's control records of these kinds."""

_CONTROL_BATCH_SIZE = 128
"""About the size of a control batch on the wire; it only limits how much a fetch returns."""


class Entry(NamedTuple):
    base_offset: int
    epoch: int
    body: Body

    @property
    def end_offset(self) -> int:
        count = self.body.record_count if isinstance(self.body, Batch) else 1
        return self.base_offset + count

    @property
    def size(self) -> int:
        return len(self.body.payload) if isinstance(self.body, Batch) else _CONTROL_BATCH_SIZE


class OffsetAndEpoch(NamedTuple):
    """A point of the log: everything before `end_offset`, of which the last has `epoch`.

    It names a snapshot, as in Kafka, and where two logs part.
    """

    end_offset: int
    epoch: int


class Snapshot(NamedTuple):
    """The state after all entries before `snapshot_id.end_offset`, which are committed.

    `content` is the whole file as it travels; who voted at that point is written in it too.
    """

    snapshot_id: OffsetAndEpoch
    voters: VoterSet
    content: bytes
