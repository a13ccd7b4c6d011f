"""What a doctor says: findings as text or JSON, and the exit code that goes with them."""

from collections import Counter
from collections.abc import Sequence

from barnabas.cli.base import exit_codes
from barnabas.cli.base.output import print_json, print_line
from barnabas.diagnosis.examine import CHECKS
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, Severity
from barnabas.quantities import counted


def exit_code_of(findings: Sequence[Finding]) -> int:
    """By the most severe finding; notes do not count."""
    worst = max((each.severity for each in findings), default=Severity.NOTE)
    if worst is Severity.CRITICAL:
        return exit_codes.FAILURE
    return exit_codes.WARNINGS if worst is Severity.WARNING else exit_codes.OK


def print_report(facts: Facts, findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(facts, findings))
        return
    print_line(f"cluster {facts.status.cluster_id}: {_verdict(facts, findings)}")
    for each in findings:
        print_line()
        print_line(f"{each.severity.name} [{each.check}] {each.what}")
        print_line(f"  fix: {each.fix}")
    if facts.unknown:
        print_line()
    for what, why in facts.unknown.items():
        print_line(f"not checked [{what}] {why}")


def _verdict(facts: Facts, findings: Sequence[Finding]) -> str:
    looked = (
        f"{len(CHECKS)} checks of {counted(len(facts.status.nodes), 'node')}, "
        f"{counted(len(facts.status.partitions), 'partition')}, "
        f"{counted(len(facts.groups), 'group')}"
    )
    if not findings:
        return f"nothing found by {looked}"
    count = Counter(each.severity for each in findings)
    parts = [
        f"{count[Severity.CRITICAL]} critical" * bool(count[Severity.CRITICAL]),
        counted(count[Severity.WARNING], "warning") * bool(count[Severity.WARNING]),
        counted(count[Severity.NOTE], "note") * bool(count[Severity.NOTE]),
    ]
    return f"{', '.join(filter(None, parts))} found by {looked}"


def _as_json(facts: Facts, findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "cluster_id": facts.status.cluster_id,
        "severity": max((each.severity for each in findings), default=Severity.NOTE).name.lower()
        if findings
        else None,
        "findings": [
            {
                "severity": each.severity.name.lower(),
                "check": each.check,
                "what": each.what,
                "fix": each.fix,
            }
            for each in findings
        ],
        "not_checked": dict(facts.unknown),
    }
