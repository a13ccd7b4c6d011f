"""The options that say which flow is meant, for commands that look at one from outside."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.mirror.cluster_option import cluster_of

if TYPE_CHECKING:
    from barnabas.mirror.flow import Flow


class NamesOption(StrEnum):
    """How topics are named in the target."""

    PREFIX = "prefix"
    IDENTITY = "identity"


Source = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="[NAME=]HOST:PORT",
        help="Source cluster and its brokers.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="[NAME=]HOST:PORT",
        help="Target cluster and its brokers.",
        show_default=False,
    ),
]
SourceConfig = Annotated[
    Path | None,
    typer.Option("--from-config", metavar="FILE", help="Client settings of the source."),
]
TargetConfig = Annotated[
    Path | None,
    typer.Option("--to-config", metavar="FILE", help="Client settings of the target."),
]
NamesChoice = Annotated[
    NamesOption, typer.Option("--names", help="How the flow names topics in the target.")
]
Provenance = Annotated[
    bool, typer.Option("--provenance", help="The flow marks where records come from.")
]


def flow_of(
    source: str,
    target: str,
    source_config: Path | None,
    target_config: Path | None,
    names: NamesOption,
    provenance: bool,
) -> "Flow":
    """Raises `UsageError` or `InvalidArgument`."""
    from barnabas.mirror.flow import Flow, Names

    return Flow(
        cluster_of("--from", source, source_config),
        cluster_of("--to", target, target_config),
        names=Names(names.value),
        provenance=provenance,
    )
