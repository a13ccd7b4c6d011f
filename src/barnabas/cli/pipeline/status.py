"""Statuses chosen by name and version; definitions are not read for it."""

from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.cli.base.command import CommandError

_DEAD_LETTERS = ".dead-letters"


def chosen_statuses(
    found: Sequence[dict[str, Any]], names: Iterable[str] | None, version: str | None
) -> list[dict[str, Any]]:
    """Statuses of these pipelines and this version, with those of their dead letters."""
    ending = "" if version is None else f"-{version}"
    wanted = [f"{name}{ending}" for name in dict.fromkeys(names or ())]
    for name in wanted:
        if not any(_belongs(each, name) for each in found):
            known = ", ".join(each["pipeline"] for each in found) or "none"
            raise CommandError(f"no pipeline {name} has run; those that have: {known}")
    if wanted:
        return [each for each in found if any(_belongs(each, name) for name in wanted)]
    return [each for each in found if _is_of_version(each["pipeline"], ending)]


def _belongs(status: dict[str, Any], name: str) -> bool:
    of: str = status["pipeline"]
    return of == name or (of.startswith(f"{name}.") and of.endswith(_DEAD_LETTERS))


def _is_of_version(name: str, ending: str) -> bool:
    is_beside = name.endswith(_DEAD_LETTERS) and f"{ending}." in name
    return name.endswith(ending) or is_beside
