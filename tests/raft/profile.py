"""How hard a simulation is on its replicas: drawn from the seed, so that each run is different.

Some runs have slow disks, some lossy networks, some crash leaders all the time; faults that hide
each other in an average run show up in one that has a lot of the one and none of the other. An
emphasis makes runs in which one kind of mistake has the best chance to be seen.
"""

from dataclasses import dataclass, replace
from random import Random

from barnabas.raft import RaftConfig


@dataclass(frozen=True)
class Profile:
    nodes: int
    voters: int
    loss: float
    duplication: float
    delays_ms: tuple[int, ...]
    sync_delays_ms: tuple[int, ...]
    restarts_ms: tuple[int, ...]
    heal_ms: tuple[int, ...]
    election_timeout_ms: int
    fetch_max_bytes: int
    propose_every_ms: int
    read_share: float
    fault_every_ms: int
    faults: dict[str, int]
    """Weights of the faults."""
    clock_rates: tuple[float, ...] = (1, 1, 0.85, 1.15)
    crash_after_vote: float = 0
    """How likely a voter crashes when it has just sent its vote,"""
    crash_new_leader: float = 0
    """a leader when it has just been elected,"""
    crash_committing_leader: float = 0
    """and a leader when it has just committed something."""
    crash_delays_ms: tuple[int, ...] = (0, 0, 2, 10)
    split_new_leader: float = 0
    """How likely the network is cut when a leader has just been elected."""
    eager_removal: float = 0
    """How likely a new leader is asked at once to remove a voter."""

    @property
    def config(self) -> RaftConfig:
        return RaftConfig(
            fetch_timeout_ms=200,
            election_timeout_ms=self.election_timeout_ms,
            request_timeout_ms=100,
            retry_backoff_ms=10,
            fetch_max_wait_ms=80,
            fetch_max_bytes=self.fetch_max_bytes,
            fetch_snapshot_max_bytes=150,
        )


FAULTS = (
    "crash",
    "crash_leader",
    "power_cut",
    "partition",
    "isolate_leader",
    "one_way",
    "pause",
    "pause_leader",
    "wipe",
    "add_voter",
    "remove_voter",
    "snapshot",
    "transfer",
    "resign",
)

EMPHASES = ("anything", "elections", "disks", "commits", "voters", "wipes", "snapshots", "reads")


def draw_profile(random: Random, emphasis: str | None = None) -> Profile:
    profile = _draw_anything(random)
    match emphasis or random.choice(EMPHASES):
        case "elections":
            return replace(
                profile,
                nodes=5,
                voters=5,
                loss=0,
                delays_ms=(30, 40),
                sync_delays_ms=(1, 2, 5),
                restarts_ms=(1,),
                election_timeout_ms=60,
                fault_every_ms=60,
                faults={"crash_leader": 1, "resign": 1},
                crash_after_vote=0.5,
            )
        case "disks":
            return replace(
                profile,
                nodes=3,
                voters=3,
                sync_delays_ms=(1, 2, 3, 80),
                restarts_ms=(1, 5, 50, 500),
                propose_every_ms=10,
                fault_every_ms=80,
                faults={"power_cut": 4, "crash_leader": 2, "isolate_leader": 1, "snapshot": 1},
            )
        case "commits":
            return replace(
                profile,
                nodes=3,
                voters=3,
                loss=0,
                delays_ms=(5, 10, 15, 20),
                sync_delays_ms=(1,),
                restarts_ms=(20, 200, 300),
                election_timeout_ms=60,
                fetch_max_bytes=1,
                fault_every_ms=200,
                faults={"crash_leader": 2, "partition": 1},
                crash_new_leader=0.6,
                crash_committing_leader=0.5,
                crash_delays_ms=(0, 15),
            )
        case "voters":
            return replace(
                profile,
                nodes=4,
                voters=4,
                loss=0,
                fault_every_ms=25,
                faults={"add_voter": 8, "remove_voter": 4, "partition": 1},
                eager_removal=0.5,
                split_new_leader=0.6,
            )
        case "wipes":
            return replace(
                profile,
                nodes=3,
                voters=3,
                fault_every_ms=60,
                faults={"wipe": 8, "isolate_leader": 4, "crash_leader": 2, "remove_voter": 1},
            )
        case "snapshots":
            return replace(
                profile,
                nodes=4,
                voters=3,
                propose_every_ms=10,
                fault_every_ms=40,
                faults={
                    "snapshot": 8,
                    "partition": 2,
                    "isolate_leader": 1,
                    "crash": 2,
                    "wipe": 1,
                    "add_voter": 2,
                    "remove_voter": 1,
                },
            )
        case "reads":
            return replace(
                profile,
                nodes=3,
                voters=3,
                loss=0,
                propose_every_ms=10,
                read_share=1,
                fault_every_ms=100,
                faults={"isolate_leader": 3, "pause_leader": 2, "partition": 1, "one_way": 1},
            )
        case _:
            return profile


def _draw_anything(random: Random) -> Profile:
    nodes = random.choice((3, 4, 5))
    return Profile(
        nodes=nodes,
        voters=random.choice((1, 3, 3, nodes)),
        loss=random.choice((0, 0, 0.02, 0.1)),
        duplication=random.choice((0, 0.05)),
        delays_ms=random.choice(((1,), (1, 2, 5), (1, 2, 3, 40), (5, 10, 15, 20))),
        sync_delays_ms=random.choice(((1,), (1, 2, 5), (1, 10, 30), (1, 2, 3, 80))),
        restarts_ms=random.choice(((1, 5), (1, 5, 50, 500))),
        heal_ms=(50, 200, 600),
        election_timeout_ms=random.choice((60, 60, 20)),
        fetch_max_bytes=random.choice((1, 200, 1 << 20)),
        propose_every_ms=random.choice((10, 30, 80)),
        read_share=0.3,
        fault_every_ms=random.choice((40, 80, 200)),
        faults={name: random.choice((0, 1, 1, 5)) for name in FAULTS},
        crash_after_vote=random.choice((0, 0, 0.2)),
        crash_new_leader=random.choice((0, 0, 0.2)),
        crash_committing_leader=random.choice((0, 0, 0.05)),
        split_new_leader=random.choice((0, 0, 0.3)),
        eager_removal=random.choice((0, 0, 0.2)),
    )
