"""Property files of Mirror Maker 2, as commands of mirrors take them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.properties import read_properties

if TYPE_CHECKING:
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.mirror_maker.properties import MirrorMakerFile

PropertyFile = Annotated[
    Path | None,
    typer.Option(
        "--properties",
        metavar="FILE",
        help="Property file of Mirror Maker 2, instead of clusters and topics.",
        show_default=False,
    ),
]
FlowNames = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        metavar="A->B",
        help="Flow in the file; may be repeated. Default: all that are enabled.",
        show_default=False,
    ),
]
_CLUSTERS = {
    "source": "--from",
    "target": "--to",
    "names": "--names",
    "source_config": "--from-config",
    "target_config": "--to-config",
}
_IN_FILES = {
    **_CLUSTERS,
    "topics": "--topics",
    "exclude": "--exclude",
    "groups": "--groups",
    "exclude_groups": "--exclude-groups",
    "replication_factor": "--replication-factor",
}
"""Parameters of commands, and the options that say what a file says."""


def read_flows(
    ctx: typer.Context, path: Path, only: list[str], refused: dict[str, str] = _IN_FILES
) -> "MirrorMakerFile":
    """The flows of a file. Raises `UsageError`, also if options say the same as a file does."""
    from barnabas.errors import InvalidArgument
    from barnabas.mirror.mirror_maker.properties import parse

    for name, option in refused.items():
        where = ctx.get_parameter_source(name)
        if where is not None and where.name == "COMMANDLINE":
            raise UsageError(
                f"{option} can't be combined with --properties: write it into the file"
            )
    try:
        return parse(read_properties(path, "--properties"), only)
    except InvalidArgument as error:
        raise UsageError(f"{path}: {error}") from error


def read_flow(ctx: typer.Context, path: Path, name: str | None) -> "ConfiguredFlow":
    """The flow of a file that is meant. Raises `UsageError`.

    Options may choose others of its topics and groups.
    """
    found = read_flows(ctx, path, [] if name is None else [name], _CLUSTERS).flows
    if len(found) > 1:
        names = ", ".join(f"'{each.flow.name}'" for each in found)
        raise UsageError(f"{path} has several flows: give --flow with one of {names}")
    return found[0]
