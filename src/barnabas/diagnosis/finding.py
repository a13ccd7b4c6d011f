"""What a check has found."""

from enum import IntEnum
from typing import NamedTuple


class Severity(IntEnum):
    """How soon somebody has to act."""

    NOTE = 0
    """Worth knowing; may well be intended."""
    WARNING = 1
    """Works, and will not if nothing is done or one more thing fails."""
    CRITICAL = 2
    """Clients fail or wait, or records can be lost."""


class Finding(NamedTuple):
    """`fix` is a command where one mends it, or what to do."""

    severity: Severity
    check: str
    what: str
    fix: str


def note(check: str, what: str, fix: str) -> Finding:
    return Finding(Severity.NOTE, check, what, fix)


def warning(check: str, what: str, fix: str) -> Finding:
    return Finding(Severity.WARNING, check, what, fix)


def critical(check: str, what: str, fix: str) -> Finding:
    return Finding(Severity.CRITICAL, check, what, fix)
