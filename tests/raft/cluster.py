"""A simulated cluster in which nothing goes wrong that the test does not do itself."""

from collections.abc import Callable

from barnabas.raft import Raft, ReplicaKey
from tests.raft.profile import Profile
from tests.raft.replica import Replica
from tests.raft.simulation import Simulation


class Cluster(Simulation):
    """Messages and syncs take a millisecond; clocks run alike."""

    def __init__(self, nodes: int = 3, voters: int | None = None, *, seed: int = 0) -> None:
        profile = Profile(
            nodes=nodes,
            voters=nodes if voters is None else voters,
            loss=0,
            duplication=0,
            delays_ms=(1,),
            sync_delays_ms=(1,),
            restarts_ms=(1,),
            heal_ms=(1,),
            election_timeout_ms=60,
            fetch_max_bytes=1 << 20,
            propose_every_ms=1,
            read_share=0,
            fault_every_ms=1,
            faults={},
            clock_rates=(1,),
        )
        super().__init__(seed, profile)

    def run(self, ms: int = 500) -> None:
        self.run_until(self.now + ms)

    def run_until_true(self, condition: Callable[[], bool], within_ms: int = 2_000) -> None:
        """Stop at the very moment."""
        end = self.now + within_ms
        while not condition():
            assert self.now < end, "it has not come true in time"
            self.run(1)

    def elect(self, *, beyond_epoch: int = 0) -> Replica:
        """Wait for a leader in a greater epoch than that."""
        self.run_until_true(lambda: bool(self._leaders_beyond(beyond_epoch)))
        return self._leaders_beyond(beyond_epoch)[0]

    def _leaders_beyond(self, epoch: int) -> list[Replica]:
        return [r for r in self.leaders() if self.raft(r).epoch > epoch]

    def raft(self, replica: Replica) -> Raft:
        assert replica.raft is not None
        return replica.raft

    def others(self, *replicas: Replica) -> list[Replica]:
        return [replica for replica in self.replicas.values() if replica not in replicas]

    def call(self, replica: Replica, method: str, *arguments: object) -> object:
        """Call a method of the state machine that takes the time, and see to what follows."""
        result = getattr(self.raft(replica), method)(*arguments, replica.local_ms(self.now))
        self.pump(replica)
        return result

    def write(self, count: int = 1) -> None:
        """Have so many batches committed and applied everywhere."""
        for _ in range(count):
            assert self.propose() is not None
            self.run(5)
        self.run(100)

    def cut(self, *side: Replica) -> None:
        """Between these and the others nothing gets through."""
        inside = {replica.node_id for replica in side}
        nodes = list(self.replicas)
        self.cuts = [{(a, b) for a in nodes for b in nodes if (a in inside) != (b in inside)}]

    def heal(self) -> None:
        self.cuts = []

    def voters(self, replica: Replica) -> tuple[ReplicaKey, ...]:
        return self.raft(replica).voters.keys
