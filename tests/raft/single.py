"""One replica by itself, node 1, to be told by hand what happens."""

from barnabas.raft import Raft, RaftConfig, Recovered, ReplicaKey, VoterSet
from tests.raft.replica import directory_id, voters_in_snapshot


def voter_key(node_id: int, *, directory: int | None = None) -> ReplicaKey:
    return ReplicaKey(node_id, directory_id(node_id if directory is None else directory))


def single(
    *, voters: int = 3, recovered: Recovered | None = None, config: RaftConfig | None = None
) -> Raft:
    """Whatever is drawn is as small as it can be. It starts at 0, with 1 to `voters` as voters."""
    return Raft(
        voter_key(1),
        config=config or RaftConfig(election_timeout_ms=100),
        recovered=recovered or Recovered(),
        bootstrap_voters=VoterSet.of([voter_key(n) for n in range(1, voters + 1)]),
        voters_in_snapshot=voters_in_snapshot,
        randint=lambda low, _high: low,
        now_ms=0,
    )
