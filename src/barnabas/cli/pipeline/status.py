"""Selects statuses by name and version, without reading definitions."""

from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.cli.base.command import CommandError


def chosen_statuses(
    found: Sequence[dict[str, Any]], names: Iterable[str] | None, version: str | None
) -> list[dict[str, Any]]:
    """Statuses of these pipelines and this version."""
    ending = "" if version is None else f"-{version}"
    wanted = [f"{name}{ending}" for name in dict.fromkeys(names or ())]
    for name in wanted:
        if not any(each["pipeline"] == name for each in found):
            known = ", ".join(each["pipeline"] for each in found) or "none"
            raise CommandError(f"no pipeline {name} has run; those that have: {known}")
    if wanted:
        return [each for each in found if each["pipeline"] in wanted]
    return [each for each in found if each["pipeline"].endswith(ending)]
