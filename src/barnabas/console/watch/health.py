"""The doctor's findings in one sentence."""

from collections.abc import Sequence

from barnabas.diagnosis.examine import CHECKS
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, Severity
from barnabas.quantities import counted


def verdict(facts: Facts, findings: Sequence[Finding]) -> tuple[str, str]:
    """A level (good, warning, bad) and a sentence."""
    critical = [each for each in findings if each.severity is Severity.CRITICAL]
    warnings = [each for each in findings if each.severity is Severity.WARNING]
    if critical:
        others = _others(len(critical) + len(warnings) - 1)
        return "bad", f"Needs action now: {critical[0].what}{others}."
    if warnings:
        return "warning", f"Works, with a warning: {warnings[0].what}{_others(len(warnings) - 1)}."
    looked = (
        f"{counted(len(facts.status.nodes), 'node')}, "
        f"{counted(len(facts.status.partitions), 'partition')} and "
        f"{counted(len(facts.groups), 'group')}"
    )
    return "good", f"Healthy: {len(CHECKS)} checks of {looked} found nothing to do."


def _others(count: int) -> str:
    return f", and {count} more" if count else ""
