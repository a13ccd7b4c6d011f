"""The states that some seed of a soak has to reach, and from how many seeds on.

A state that one of a hundred seeds reaches is missed by 1,000 seeds once in 20,000 soaks; one that
one of a thousand reaches, by 20,000 seeds never. So a soak that misses one says that the simulation
no longer gets there: a workload ends early, or a fault has no effect.

`ReachedStates` counts them. It counts more than is listed here: what is not, such as the codes of
rare errors, may or may not be reached.
"""

from collections.abc import Iterable, Mapping

from barnabas.sim.faults.rare_faults import SHARES
from barnabas.sim.profile import FAULTS

_FREQUENT_FROM = 1_000
_RARE_FROM = 20_000

_FREQUENT = (
    "election: eligible leader replica",
    "election: in-sync replica",
    "election: in-sync replica that is back",
    "election: none, the partition has no leader",
    "election: preferred leader",
    "election: unclean",
    "in-sync set: grows",
    "in-sync set: shrinks",
    "in-sync set: below the minimum, with eligible leaders",
    "reassignment: begins",
    "reassignment: ends",
    "quorum: a leader is elected",
    "quorum: a node begins with a snapshot",
    "quorum: a voter is added",
    "quorum: a voter is removed",
    "replica: log cut, overwritten or replaced",
    "replica: doubts its own log",
    "group: classic",
    "group: Consumer",
    "group: ShareGroup",
    "group: classic, then Consumer",
    "group: Consumer, then classic",
    "transaction: ONGOING",
    "transaction: PREPARE_COMMIT",
    "transaction: COMPLETE_COMMIT",
    "transaction: PREPARE_ABORT",
    "transaction: COMPLETE_ABORT",
    "committed offset: expired",
    "partitions added",
    "recovery: of a majority",
    "reassignment: to more replicas",
    "reassignment: to fewer replicas",
    "setting changed: min.insync.replicas",
    "setting changed: fetch.max.bytes",
    "error: COORDINATOR_LOAD_IN_PROGRESS",
    "error: COORDINATOR_NOT_AVAILABLE",
    "error: FENCED_LEADER_EPOCH",
    "error: FETCH_SESSION_ID_NOT_FOUND",
    "error: INVALID_PRODUCER_EPOCH",
    "error: NOT_CONTROLLER",
    "error: NOT_COORDINATOR",
    "error: NOT_ENOUGH_REPLICAS",
    "error: NOT_LEADER_OR_FOLLOWER",
    "error: OFFSET_OUT_OF_RANGE",
    "error: PRODUCER_FENCED",
    "error: REBALANCE_IN_PROGRESS",
    "error: REQUEST_TIMED_OUT",
    "error: TRANSACTION_ABORTABLE",
    "error: UNKNOWN_LEADER_EPOCH",
    "error: UNKNOWN_MEMBER_ID",
    "error: UNKNOWN_TOPIC_ID",
    "error: UNSTABLE_OFFSET_COMMIT",
    *(f"fault: {name}" for name in FAULTS),
    *(f"fault: {name}" for name in ("blackout", "garble_epoch", "lose_directory", "make_hole")),
    *(f"fault: {name}" for name in ("rot", *SHARES)),
)
_RARE = (
    "setting changed: cleanup.policy",
    "setting changed: retention.ms",
    "reassignment: cancelled",
    "error: KAFKA_STORAGE_ERROR",
    "error: SHARE_SESSION_NOT_FOUND",
    "error: STALE_MEMBER_EPOCH",
)

EXPECTED: Mapping[str, int] = dict.fromkeys(_FREQUENT, _FREQUENT_FROM) | dict.fromkeys(
    _RARE, _RARE_FROM
)
"""By state, the number of seeds from which on it is demanded."""


def not_reached(reached: Iterable[str], seeds: int) -> list[str]:
    """What as many seeds should have reached, and have not."""
    found = set(reached)
    return [state for state, least in EXPECTED.items() if seeds >= least and state not in found]
