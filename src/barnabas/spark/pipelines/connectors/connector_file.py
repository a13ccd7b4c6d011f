"""A file with the JSON of a connector, run in the foreground by `barnabas pipeline run`."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.pipeline_files import pipelines_of
from barnabas.spark.pipelines.definition.definitions import Definitions

SUFFIX = ".json"

_log = logging.getLogger(__name__)


def load_connector(path: Path, start_spark: Callable[[], object]) -> Definitions:
    """The pipelines of a connector's JSON, `{"name": ..., "config": {...}}`; paths are relative."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path}: {error}") from None
    config = found.get("config") if isinstance(found, dict) else None
    if not isinstance(config, dict) or not isinstance(found.get("name"), str):
        raise InvalidArgument(f'{path}: a connector is {{"name": "...", "config": {{...}}}}')
    texts = {name: _text(value) for name, value in config.items()}
    try:
        pipelines = pipelines_of({**texts, "name": found["name"]}, path.parent, start_spark)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error}") from None
    for name in sorted(texts):
        advice = _in_the_foreground(name)
        if advice is not None:
            _log.warning("%s: %s has no effect in the foreground: %s", path, name, advice)
    return Definitions({each.name: each for each in pipelines})


def _in_the_foreground(name: str) -> str | None:
    """What to do instead of a setting that only the service uses; None if it is used here too."""
    if name == "restarts.max":
        return "use --restarts"
    if name.startswith("topic.creation."):
        return "create the topics before"
    if name == "spark.own":
        return "this Spark runs nothing else"
    if name.startswith("spark.") and not name.startswith("spark.sql."):
        return f"use --conf {name}=VALUE"
    return None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
