"""How hard a simulation is on its cluster: drawn from the seed, so that each run is different.

Faults that hide each other in an average run show up in one that has a lot of the one and none of
the other. An emphasis makes runs in which one kind of mistake has the best chance to be seen.
"""

from dataclasses import dataclass, field, replace
from random import Random

FAULTS = (
    "kill",
    "kill_leader",
    "kill_controller",
    "kill_in_a_write",
    "stop",
    "power_loss",
    "wipe",
    "wipe_last_in_sync",
    "pause",
    "pause_leader",
    "partition",
    "isolate_leader",
    "isolate_controller",
    "one_way",
    "break_connections",
    "forget_connections",
    "late_repetitions",
    "slow_link",
    "clock_jump",
    "full_disk",
    "move_replicas",
    "elect_preferred",
    "churn_topics",
    "forge",
)
_FAULTY = (
    "anything",
    "anything",
    "kills",
    "power",
    "disks",
    "network",
    "pauses",
    "moves",
    "forged",
    "damage",
    "blackout",
)
EMPHASES = (*_FAULTY, "elections", *("transactions",) * 4)
CHOICES = (*sorted(set(EMPHASES)), "errors")
"""Those that no seed draws, because that would make every seed another run, come last."""

_COMPACTING = {
    "log.cleaner.backoff.ms": "500",
    "offsets.topic.segment.bytes": "1024",
    "transaction.state.log.segment.bytes": "1024",
}
"""What groups and transactions are remembered by is compacted as it is written."""

FLUSHED = {"log.flush.interval.messages": "1"}
"""What is acknowledged survives a loss of power of all machines."""

NOTICED = {
    "log.segment.bytes": "1024",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
"""Logs have more than one segment, and a replica soon knows how far it is committed."""

SCRUBBED = {"log.segment.bytes": "1024", "log.scrub.interval.ms": "500"}
"""What has rotted is found within a run."""


@dataclass(frozen=True)
class Profile:
    """One run."""

    emphasis: str
    nodes: int
    voters: int
    replication_factor: int
    min_insync_replicas: int
    partitions: int
    producers: int
    members: int
    committers: int
    racks: bool
    """Nodes have racks, and a consumer reads from the nearest replica."""
    faulty_ms: int
    fault_every_ms: int
    faults: dict[str, int]
    """Weights of the faults."""
    delays_us: tuple[int, int]
    job_delays_us: tuple[int, int]
    restarts_ms: tuple[int, ...]
    heals_ms: tuple[int, ...]
    pace_ms: tuple[int, int] = (20, 200)
    wipes: int = 1
    """How often a machine comes back with an empty disk."""
    kill_after_vote: float = 0
    """How likely a voter is killed when it has just voted."""
    skews_ms: tuple[int, ...] = (0, 0, -30_000, 3_600_000)
    rates: tuple[float, ...] = (1.0, 1.0, 0.97, 1.03)
    settings: dict[str, str] = field(default_factory=dict)
    transactional_ids: int = 0
    """How many read the topic and write to another one in transactions."""
    output_partitions: int = 0
    rare_shares: dict[str, float] = field(default_factory=dict)
    """How likely rare faults are, if it is not as usual."""


def draw_profile(random: Random, emphasis: str | None = None) -> Profile:
    return _with_rare_faults(random, _draw_profile(random, emphasis or random.choice(EMPHASES)))


def _draw_profile(random: Random, emphasis: str) -> Profile:
    if emphasis != "transactions":
        return _draw(random, emphasis)
    profile = _draw(random, random.choice(_FAULTY))
    transactional_ids = random.choice((1, 2, 3))
    return replace(
        profile,
        emphasis=f"transactions, {profile.emphasis}",
        partitions=max(transactional_ids, profile.partitions),
        producers=1,
        members=0,
        committers=0,
        faulty_ms=random.choice((3_000, 4_000, 6_000)),
        transactional_ids=transactional_ids,
        output_partitions=random.choice((2, 2, 3)),
        settings=profile.settings
        | {"transaction.state.log.num.partitions": str(random.choice((1, 1, 3)))}
        | random.choice(({}, _COMPACTING)),
    )


def _with_rare_faults(random: Random, profile: Profile) -> Profile:
    """Now and then all machines lose power at once, or a replica is damaged, in any kind of run.

    They come with the settings under which nothing may be lost by them.
    """
    draw = random.random()
    if draw < 0.15:
        faults, settings = ["blackout"], FLUSHED
    elif draw < 0.20:
        faults, settings = ["lose_directory"], {}
    elif draw < 0.35:
        faults, settings = ["lose_directory", "make_hole", "garble_epoch"], NOTICED
    elif draw < 0.45 and not profile.faults.get("clock_jump"):  # it would put scrubbing off
        faults, settings = ["rot"], SCRUBBED
    else:
        return profile
    weight = max(1, sum(profile.faults.values()) // 12)
    return replace(
        profile,
        faults=dict.fromkeys(faults, weight) | profile.faults,
        settings=settings | profile.settings,
    )


def _draw(random: Random, emphasis: str) -> Profile:
    profile = _draw_anything(random, emphasis)
    match emphasis:
        case "kills":
            return replace(
                profile,
                fault_every_ms=300,
                faults={"kill": 2, "kill_leader": 4, "kill_controller": 2, "kill_in_a_write": 3},
                restarts_ms=(1, 50, 400, 1_500),
            )
        case "elections":
            voters = random.choice((3, 3, 5))
            return replace(
                profile,
                nodes=voters,
                voters=voters,
                producers=1,
                members=0,
                faulty_ms=15_000,
                fault_every_ms=random.choice((200, 600)),
                faults={"kill_controller": 4, "kill": 1, "isolate_controller": 1},
                kill_after_vote=random.choice((0.3, 0.8)),
                delays_us=random.choice(((500, 30_000), (30_000, 100_000), (60_000, 200_000))),
                job_delays_us=(100, 1_000),
                restarts_ms=(1, 5),
            )
        case "power":
            return replace(
                profile,
                nodes=3,
                voters=min(3, profile.voters),
                replication_factor=3,
                faults={"power_loss": 6, "kill_leader": 4, "kill": 2, "wipe": 1},
                restarts_ms=(1, 50, 400, 2_000),
            )
        case "disks":
            return replace(
                profile,
                nodes=5,
                voters=random.choice((1, 3)),
                replication_factor=3,
                min_insync_replicas=2,
                fault_every_ms=300,
                faults={"kill": 4, "kill_leader": 1, "wipe_last_in_sync": 6, "power_loss": 2},
                restarts_ms=(50, 1_500, 4_000),
                wipes=4,
            )
        case "damage":
            return replace(
                profile,
                replication_factor=3,
                faults={
                    "lose_directory": 4,
                    "make_hole": 6,
                    "garble_epoch": 4,
                    "rot": 4,
                    "kill": 3,
                    "kill_leader": 3,
                },
                restarts_ms=(1, 50, 400, 2_000),
                settings=NOTICED | SCRUBBED,
            )
        case "blackout":
            return replace(
                profile,
                replication_factor=3,
                fault_every_ms=1_200,
                faults={"blackout": 5, "kill": 2, "kill_leader": 2, "power_loss": 1},
                restarts_ms=(1, 50, 400, 1_500),
                settings=FLUSHED,
            )
        case "errors":
            return replace(
                profile,
                replication_factor=3,
                faults={"kill": 2, "kill_leader": 2, "power_loss": 2, "blackout": 1},
                restarts_ms=(1, 50, 400),
                settings=random.choice((FLUSHED, FLUSHED | NOTICED)),
                rare_shares={"io_errors": 1.0, "failed_sync": 1.0},
            )
        case "network":
            return replace(
                profile,
                faults={
                    "partition": 3,
                    "isolate_leader": 3,
                    "isolate_controller": 2,
                    "one_way": 3,
                    "break_connections": 2,
                    "forget_connections": 2,
                    "late_repetitions": 3,
                    "slow_link": 2,
                },
            )
        case "pauses":
            return replace(
                profile,
                faults={"pause": 3, "pause_leader": 5, "kill_leader": 1, "clock_jump": 1},
            )
        case "moves":
            return replace(
                profile,
                nodes=max(4, profile.nodes),
                faults={
                    "move_replicas": 6,
                    "elect_preferred": 2,
                    "kill": 2,
                    "stop": 2,
                    "kill_leader": 2,
                    "partition": 1,
                    "kill_controller": 1,
                },
            )
        case "forged":
            return replace(
                profile,
                nodes=3,
                voters=min(3, profile.voters),
                replication_factor=3,
                fault_every_ms=100,
                faults={"forge": 20, "kill_leader": 2, "power_loss": 2, "isolate_leader": 1},
                restarts_ms=(400, 1_500),
            )
        case _:
            return profile


def _draw_anything(random: Random, emphasis: str) -> Profile:
    nodes = random.choice((3, 3, 3, 4, 5))
    replication_factor = random.choice((2, 3, 3))
    return Profile(
        emphasis=emphasis,
        nodes=nodes,
        voters=random.choice((3, 3, 3, 1, 5 if nodes == 5 else 3)),
        replication_factor=replication_factor,
        min_insync_replicas=random.choice((1, 1, replication_factor - 1)),
        partitions=random.choice((1, 2, 3)),
        producers=random.choice((1, 2, 3)),
        members=random.choice((0, 1, 2)),
        committers=random.choice((0, 1, 1)),
        racks=random.random() < 0.3,
        faulty_ms=random.choice((4_000, 6_000, 8_000)),
        fault_every_ms=random.choice((300, 600, 1_200)),
        faults={name: random.choice((0, 1, 1, 4)) for name in FAULTS},
        delays_us=random.choice(((100, 500), (100, 3_000), (500, 30_000))),
        job_delays_us=random.choice(((100, 1_000), (500, 5_000), (100, 60_000))),
        restarts_ms=random.choice(((1, 50), (50, 500, 2_000))),
        heals_ms=random.choice(((50, 300), (300, 1_000, 2_500))),
    )
