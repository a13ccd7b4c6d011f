"""The registry of connectors: every source and sink that pipelines have is one.

`connector.class` is the name of the function, `from_postgres_changes` or `to_parquet`, or a class
name of Kafka Connect's world that stands for it (`java_names`). A new source or sink is here once
SQL has a name for it (`definition/sql_file.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from barnabas.errors import InvalidArgument
from barnabas.mirror.mirror_maker.connector_settings import MIRROR, MIRROR_SOURCE
from barnabas.spark.pipelines.connectors.java_names import JAVA_NAMES
from barnabas.spark.pipelines.definition.sql_file import SINKS, SOURCES
from barnabas.spark.pipelines.pipeline_end import PipelineEnd

Direction: TypeAlias = Literal["source", "sink"]

PIPELINE = "pipeline"
"""The class of connectors that are the SQL or the file of a pipeline."""


_NO_STREAM = {"table"}
_FOR_TRYING = {"console", "memory"}
"""They keep no checkpoint: every start begins with the first record."""


@dataclass(frozen=True)
class ConnectorKind:
    """A source or a sink that connectors can have."""

    name: str
    direction: Direction
    make: Callable[..., PipelineEnd]


def kinds() -> dict[str, ConnectorKind]:
    """All kinds by name."""
    found = [
        ConnectorKind(f"from_{name}", "source", make)
        for name, make in SOURCES.items()
        if name not in _NO_STREAM
    ]
    found += [
        ConnectorKind(f"to_{name}", "sink", make)
        for name, make in SINKS.items()
        if name not in _FOR_TRYING
    ]
    return {each.name: each for each in found}


def kind_named(name: str, direction: Direction | None = None) -> ConnectorKind:
    """The kind of a short name; raises `InvalidArgument`."""
    known = {each.name: each for each in kinds().values() if direction in (None, each.direction)}
    if name in known:
        return known[name]
    names = [*known, *(() if direction else (PIPELINE, MIRROR, MIRROR_SOURCE, *JAVA_NAMES))]
    like = get_close_matches(name, names, 1)
    advice = f"did you mean {like[0]}?" if like else f"there are {', '.join(names)}"
    raise InvalidArgument(f"Failed to find any class that implements connector {name!r}; {advice}")
