"""How commands of mirrors print what they found."""

from typing import TYPE_CHECKING

from barnabas.cli.base.output import print_line, print_table
from barnabas.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.mirror.operations.comparison import Comparison
    from barnabas.mirror.operations.failover import FailoverReport
    from barnabas.mirror.operations.status import GroupStatus, MirrorStatus


def print_status(status: "MirrorStatus") -> None:
    """Partitions, then groups."""
    age = status.heartbeat_age_seconds
    driver = "never seen (no heartbeats)" if age is None else f"seen {age:.0f} s ago"
    source = "reachable" if status.is_source_reachable else "not reachable, ends as last seen"
    print_line(f"{status.flow}: source {source}; driver {driver}")
    for problem in status.problems:
        print_line(f"warning, {status.problems_age_seconds or 0:.0f} s ago: {problem}")
    if not status.mirrored:
        print_line("nothing is copied yet")
    for name in status.never_copied:
        print_line(f"partition {name} is not copied yet: the flow has no position in it")
    print_table(
        ("topic", "partition", "target topic", "position", "end", "lag", "lag s", "offsets/s"),
        [
            (
                each.topic,
                each.partition,
                each.target_topic,
                each.position,
                each.end,
                each.lag,
                _rounded(each.lag_seconds),
                _rounded(each.offsets_per_second),
            )
            for each in status.partitions
        ],
    )
    if status.groups:
        print_line()
        print_groups(status.groups)


def print_groups(groups: "Sequence[GroupStatus]") -> None:
    """Where groups are on both sides."""
    print_table(
        ("group", "target topic", "partition", "source offset", "translated", "committed", "state"),
        [
            (
                each.group,
                each.topic,
                each.partition,
                each.upstream,
                each.translated,
                each.committed,
                each.state,
            )
            for each in groups
        ],
    )


def print_comparisons(comparisons: "Sequence[Comparison]") -> None:
    """One line for each partition."""
    print_table(
        ("topic", "partition", "records", "missing", "extra", "expired", "result"),
        [
            (
                each.topic,
                each.partition,
                each.records,
                each.missing_count,
                each.extra_count,
                each.expired,
                "equal" if each.is_equal else _differences(each),
            )
            for each in comparisons
        ],
    )


def _differences(found: "Comparison") -> str:
    missing = f"missing at source offset {found.missing[0]}" if found.missing else ""
    extra = f"extra at target offset {found.extra[0]}" if found.extra else ""
    return ", ".join(filter(None, (missing, extra)))


def print_failover(report: "FailoverReport", source: str, target: str) -> None:
    """What was not copied, and the groups."""
    if not report.is_source_reachable:
        print_line(
            f"{source} is not reachable: what it got after it was last seen is not known here, and "
            "is copied when it is back and the flow runs again"
        )
    for each in report.not_copied:
        print_line(
            f"not copied: {each.topic}-{each.partition}, offsets {each.position} to "
            f"{(each.end or 0) - 1} ({counted(each.lag or 0, 'offset')})"
        )
    if not report.not_copied:
        print_line(f"everything that is known of {source} is copied")
    if report.rolled_back:
        print_line(f"rolled back {counted(report.rolled_back, 'open transaction')} of the flow")
    print_groups(report.groups)
    print_line(f"the flow is stopped: producers and groups can continue in {target}")


def _rounded(number: float | None) -> str | None:
    return None if number is None else f"{number:.1f}"
