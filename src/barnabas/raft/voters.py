"""Who votes. A replica is a node together with the directory its log and its vote are in.

A node whose disk was wiped comes back with another directory id, so it is another replica: it
cannot vote a second time in an epoch, and what the old one acknowledged is not taken for its own.
It is an observer until the old replica was removed from the voters and the new one added.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.wire.endpoint import Endpoint


class ReplicaKey(NamedTuple):
    node_id: int
    directory_id: bytes
    """Sixteen bytes, drawn when the directory was made."""


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters in the order of their node ids, each node at most once. Kafka's `VotersRecord`."""

    voters: tuple[Voter, ...] = ()

    def __post_init__(self) -> None:
        node_ids = [voter.key.node_id for voter in self.voters]
        if node_ids != sorted(set(node_ids)):
            raise ValueError("voters must be in the order of their node ids, each once")

    @classmethod
    def of(cls, keys: Collection[ReplicaKey]) -> "VoterSet":
        return cls(tuple(Voter(key) for key in sorted(keys)))

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def __contains__(self, key: ReplicaKey) -> bool:
        return any(voter.key == key for voter in self.voters)

    def key_of(self, node_id: int) -> ReplicaKey | None:
        return next((v.key for v in self.voters if v.key.node_id == node_id), None)

    def others(self, me: ReplicaKey) -> list[ReplicaKey]:
        return [voter.key for voter in self.voters if voter.key != me]

    def has_majority(self, keys: Collection[ReplicaKey]) -> bool:
        """Whether more than half of the voters are among `keys`; others do not count."""
        return sum(voter.key in keys for voter in self.voters) >= self.majority

    def majority_reached(self, values: Mapping[ReplicaKey, int]) -> int:
        """The greatest value that a majority has reached; who is not in `values` has reached -1."""
        reached = sorted((values.get(v.key, -1) for v in self.voters), reverse=True)
        return reached[self.majority - 1] if reached else -1

    def with_voter(self, voter: Voter) -> "VoterSet":
        return VoterSet(tuple(sorted((*self.voters, voter))))

    def without_voter(self, key: ReplicaKey) -> "VoterSet":
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))
