"""The options of flows: which one is meant, and how it names topics."""

from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base.command import CommonOptions, UsageError, parameters_of, typer_command
from barnabas.cli.mirror.cluster_option import cluster_of
from barnabas.cli.mirror.flow_file import PropertyFile, read_flow

if TYPE_CHECKING:
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.flow import Flow
    from barnabas.mirror.groups.group_settings import GroupSettings

FlowCommand = Callable[..., Coroutine[Any, Any, int | None]]
"""Called with the flow, whether to print JSON, and its own options."""


class NamesOption(StrEnum):
    """How topics are named in the target."""

    PREFIX = "prefix"
    IDENTITY = "identity"


Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="[NAME=]HOST:PORT",
        help="Source cluster. Its name is the prefix of topics; by default its id.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--to", metavar="[NAME=]HOST:PORT", help="Target cluster.", show_default=False),
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
    NamesOption,
    typer.Option("--names", help="Topics in the target: NAME.topic, or as in the source."),
]
Provenance = Annotated[
    bool,
    typer.Option(
        "--provenance",
        help="Mark records with the clusters they have passed, so that flows in both "
        "directions can keep names.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Groups to mirror, names or regular expressions. Default: all.",
        show_default=False,
    ),
]
ExcludedGroups = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Groups to exclude. Default: those of tools.",
        show_default=False,
    ),
]


TopicNames = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Topics or regular expressions, separated by commas.",
        show_default=False,
    ),
]
ExcludedTopics = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Topics to exclude. Default: internal topics.",
        show_default=False,
    ),
]


SyncDeletes = Annotated[
    bool,
    typer.Option(
        "--delete-topics", help="Delete topics in the target that are deleted in the source."
    ),
]
SyncAcls = Annotated[
    bool,
    typer.Option(
        "--sync-acls",
        help="Copy ACLs of topics. Users can't be copied: brokers do not show password hashes.",
    ),
]
SyncQuotas = Annotated[
    bool, typer.Option("--sync-quotas", help="Copy quotas of users, client ids and addresses.")
]


def flow_of(
    source: str,
    target: str,
    topics: str,
    names: NamesOption,
    source_config: Path | None,
    target_config: Path | None,
    **options: Any,
) -> "Flow":
    """The flow that options describe. Raises `UsageError` or `InvalidArgument`."""
    from barnabas.mirror.flow import Flow, Names
    from barnabas.mirror.mirror_maker.file_settings import listed

    return Flow(
        cluster_of("--from", source, source_config),
        cluster_of("--to", target, target_config),
        listed(topics),
        names=Names(names.value),
        **options,
    )


def group_settings(
    groups: str | None, exclude_groups: str | None, given: "GroupSettings | None" = None
) -> "GroupSettings":
    """Which groups are mirrored: what a file has `given`, or options. Raises `InvalidArgument`."""
    from dataclasses import replace

    from barnabas.mirror.groups.group_settings import GroupSettings
    from barnabas.mirror.mirror_maker.file_settings import listed

    found = given or GroupSettings()
    if groups is not None:
        found = replace(found, include=listed(groups))
    if exclude_groups is not None:
        found = replace(found, exclude=listed(exclude_groups))
    return found


def _which_flow(
    source: Source = None,
    target: Target = None,
    properties: PropertyFile = None,
    flow_name: Annotated[
        str | None,
        typer.Option("--flow", metavar="A->B", help="Flow in the file.", show_default=False),
    ] = None,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
) -> None:
    """The options of every command that inspects a flow from outside."""


def flow_command(look: FlowCommand) -> Callable[..., None]:
    """A command that inspects a flow: its own options, and those that select the flow."""
    own = parameters_of(look)[2:]

    def call(ctx: typer.Context, common: CommonOptions, **given: Any) -> int | None:
        from barnabas.cli.base.runner import run_async

        options = {each.name: given.pop(each.name) for each in own}
        return run_async(look(_flow_of(ctx, given), common.as_json, **options))

    return typer_command(call, look, [*parameters_of(_which_flow), *own], ("as_json",))


def _flow_of(ctx: typer.Context, given: dict[str, Any]) -> "ConfiguredFlow":
    """Raises `UsageError` or `InvalidArgument`."""
    from dataclasses import replace

    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.flow import Flow, Names

    if given["properties"] is not None:
        found = read_flow(ctx, given["properties"], given["flow_name"])
        flow = replace(found.flow, provenance=given["provenance"])  # a file has no word for it
        # Failover and failback commit offsets of groups, even if the file leaves that to them.
        return ConfiguredFlow(flow, replace(found.groups, commit=True))
    if given["flow_name"] is not None:
        raise UsageError("--flow names a flow of a file: give --properties FILE as well")
    if given["source"] is None or given["target"] is None:
        raise UsageError("give --from and --to, or --properties FILE")
    return ConfiguredFlow(
        Flow(
            cluster_of("--from", given["source"], given["source_config"]),
            cluster_of("--to", given["target"], given["target_config"]),
            names=Names(given["names"].value),
            provenance=given["provenance"],
        )
    )
