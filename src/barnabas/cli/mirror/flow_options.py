"""The options of flows: which one is meant, and how it names topics."""

import inspect
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.mirror.cluster_option import cluster_of

if TYPE_CHECKING:
    from barnabas.mirror.flow import Flow

FlowCommand = Callable[..., Coroutine[Any, Any, int | None]]
"""Called with the flow, whether to print JSON, and its own options."""


class NamesOption(StrEnum):
    """How topics are named in the target."""

    PREFIX = "prefix"
    IDENTITY = "identity"


_FROM = typer.Option(
    "--from",
    metavar="[NAME=]HOST:PORT",
    help="Source cluster. Its name is the prefix of topics; by default its id.",
    show_default=False,
)
_TO = typer.Option("--to", metavar="[NAME=]HOST:PORT", help="Target cluster.", show_default=False)

Source = Annotated[str, _FROM]
Target = Annotated[str, _TO]
OptionalSource = Annotated[str | None, _FROM]
OptionalTarget = Annotated[str | None, _TO]
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
        help="Records are marked with the clusters they have passed, so that flows in both "
        "directions can keep names.",
    ),
]


def _which_flow(
    ctx: typer.Context,
    source: Source,
    target: Target,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """The options that every command has that looks at a flow from outside."""


_SHARED = inspect.signature(_which_flow).parameters
_LAST = ("as_json", "verbose")


def flow_command(look: FlowCommand) -> Callable[..., None]:
    """A command that looks at a flow: its own options, and those that say which flow."""
    own = list(inspect.signature(look).parameters.values())[2:]

    def command(**given: Any) -> None:
        before = common_options(given["ctx"])

        def call() -> int | None:
            from barnabas.cli.base.runner import run_async

            options = {each.name: given[each.name] for each in own}
            return run_async(look(_flow_of(given), given["as_json"] or before.as_json, **options))

        exit_with(call, verbose=given["verbose"] or before.verbose)

    shared = [each for name, each in _SHARED.items() if name not in _LAST]
    listed = [*shared, *own, *(_SHARED[name] for name in _LAST)]
    as_options = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in listed]
    command.__signature__ = inspect.Signature(as_options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in as_options}
    command.__doc__ = look.__doc__
    command.__name__ = look.__name__
    return command


def _flow_of(given: dict[str, Any]) -> "Flow":
    """Raises `UsageError` or `InvalidArgument`."""
    from barnabas.mirror.flow import Flow, Names

    return Flow(
        cluster_of("--from", given["source"], given["source_config"]),
        cluster_of("--to", given["target"], given["target_config"]),
        names=Names(given["names"].value),
        provenance=given["provenance"],
    )
