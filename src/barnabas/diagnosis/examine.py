"""All checks of a snapshot."""

from collections.abc import Callable, Iterable

from barnabas.diagnosis.checks import (
    availability,
    balance,
    certificates,
    clocks,
    disks,
    groups,
    message_sizes,
    open_files,
    quorum,
    quotas,
    racks,
    replication,
    retention,
    throttles,
    transactions,
    unequal_settings,
    versions,
)
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding

Check = Callable[[Facts], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    availability.no_controller,
    availability.nodes_down,
    availability.offline,
    availability.below_min_isr,
    availability.under_replicated,
    quorum.size,
    quorum.lagging_voters,
    quorum.lost_disks,
    disks.failed,
    disks.full,
    clocks.apart,
    versions.software,
    versions.apis,
    versions.level,
    certificates.expiring,
    open_files.near_limit,
    balance.leaders,
    balance.replicas,
    balance.disk_bytes,
    balance.moves,
    racks.missing,
    racks.shared,
    throttles.left_over,
    replication.min_isr_above_factor,
    replication.min_isr_without_spare,
    replication.min_isr_of_one,
    replication.single_replicas,
    replication.internal_topics,
    replication.unclean_elections,
    retention.shorter_than_segment,
    retention.compaction_lag,
    message_sizes.above_request,
    message_sizes.above_segment,
    unequal_settings.between_nodes,
    groups.behind,
    groups.abandoned,
    groups.overtaken_by_retention,
    transactions.hanging,
    transactions.left_open,
    quotas.choking,
)


def examine(facts: Facts) -> list[Finding]:
    """What all checks find, the most severe first."""
    found = [finding for check in CHECKS for finding in check(facts)]
    return sorted(found, key=lambda each: -each.severity)
