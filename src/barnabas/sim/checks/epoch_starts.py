"""Where leader epochs began: in the end all replicas of a partition know the same.

A leader tells its followers where an epoch ended. If it knows fewer epochs than they do, they cut
what is committed.
"""

from barnabas.broker.replica.partition import Partition
from barnabas.sim.checks.history import Violation


def check_epoch_starts(leader: Partition, follower: Partition, where: str) -> None:
    """Compare where both have records, or have had them before a compaction."""
    start = max(leader.log.log_start_offset, follower.log.log_start_offset)
    end = min(leader.log.log_end_offset, follower.log.log_end_offset)
    known, found = (
        [each for each in partition.log.epochs.entries() if start < each[1] < end]
        for partition in (leader, follower)
    )
    if known != found:
        raise Violation(
            f"{leader.name}: epochs began at {found} on {where}, and at {known} on its leader"
        )
