"""Groups: lag, those without readers, and records that were deleted before they were read."""

from collections.abc import Iterator

from barnabas.client.group.progress_groups import purpose_of, waits_for
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, warning
from barnabas.quantities import counted, some


def behind(facts: Facts) -> Iterator[Finding]:
    """Records that wait for their time are no reason to look for a slow member."""
    for group in facts.groups:
        if group.lag is None or group.is_empty or waits_for(group.group_id) is not None:
            continue
        if group.lag >= facts.limits.group_lag:
            yield warning(
                "groups",
                f"group {group.group_id} is {counted(group.lag, 'record')} behind",
                f"see which members are slow: barnabas groups describe {group.group_id}; add "
                "members or partitions",
            )


def abandoned(facts: Facts) -> Iterator[Finding]:
    """No member reads, and the lag only grows.

    A group that records the progress of a tool has members only while the tool runs. One that
    records the progress of a service is never to be deleted for its lag.
    """
    for group in facts.groups:
        if not group.is_empty or not group.lag:
            continue
        fix = waits_for(group.group_id)
        if fix is None:
            if purpose_of(group.group_id) is not None:
                continue
            fix = (
                "start its consumers; if it is no longer used: barnabas groups delete "
                f"{group.group_id}"
            )
        yield warning(
            "groups",
            f"group {group.group_id} has no members and is {counted(group.lag, 'record')} behind",
            fix,
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
