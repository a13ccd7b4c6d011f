"""A connector in a file: JSON as Kafka Connect has it, or SQL."""

import json
import sys
from pathlib import Path
from typing import Any

from barnabas.cli.base.command import CommandError


def config_in(file: Path | None) -> dict[str, Any]:
    """The settings that a file has."""
    if file is None:
        return {}
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    if file.suffix == ".sql":
        return {"connector.class": "pipeline", "pipeline.sql": text}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{file} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{file} is not a JSON object")
    if isinstance(found.get("config"), dict):
        return {**found["config"], **({"name": found["name"]} if "name" in found else {})}
    return found
