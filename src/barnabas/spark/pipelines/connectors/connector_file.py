"""A file with the JSON of a connector, run in the foreground by `barnabas pipeline run`."""

import json
from collections.abc import Callable
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.pipeline_files import pipelines_of
from barnabas.spark.pipelines.definition.definitions import Definitions

SUFFIX = ".json"


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
    return Definitions({each.name: each for each in pipelines})


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
