"""Groups: lag, those without readers, and records that were deleted before they were read."""

from collections.abc import Iterator

from barnabas.client.group.progress_groups import purpose_of
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, warning
from barnabas.quantities import counted, some


def behind(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        if group.lag is not None and group.lag >= facts.limits.group_lag and not group.is_empty:
            yield warning(
                "groups",
                f"group {group.group_id} is {counted(group.lag, 'record')} behind",
                f"see which members are slow: barnabas groups describe {group.group_id}; add "
                "members or partitions",
            )


def abandoned(facts: Facts) -> Iterator[Finding]:
    """No member reads, and the lag only grows.

    A group that records the progress of a tool has members only while the tool runs.
    """
    for group in facts.groups:
        if group.is_empty and group.lag and purpose_of(group.group_id) is None:
            yield warning(
                "groups",
                f"group {group.group_id} has no members and is {counted(group.lag, 'record')} "
                "behind",
                "start its consumers; if it is no longer used: barnabas groups delete "
                f"{group.group_id}",
            )


def overtaken_by_retention(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        lost = sum(group.deleted_unread.values())
        if lost:
            names = sorted(group.deleted_unread)
            yield warning(
                "groups",
                f"retention deleted {counted(lost, 'record')} before group {group.group_id} read "
                f"them, in {some(names)}",
                f"keep records longer: barnabas configs set topic {names[0].topic} "
                "retention.ms=MS; or make the group faster",
            )
