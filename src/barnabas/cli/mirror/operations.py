"""`barnabas mirror status, verify, failover, failback`: they need no driver."""

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.base.output import print_json, print_line
from barnabas.cli.mirror.flow_options import (
    NamesChoice,
    NamesOption,
    Provenance,
    Source,
    SourceConfig,
    Target,
    TargetConfig,
    flow_of,
)

if TYPE_CHECKING:
    from barnabas.mirror.flow import Flow
    from barnabas.mirror.groups.group_sync import SyncedGroup

Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for the lag to be 0.")
]


def add_operations(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("status", epilog="Example: barnabas mirror status --from A=a:9092 --to B=b:9092")(
        status
    )
    app.command("verify", epilog="Example: barnabas mirror verify --from A=a:9092 --to B=b:9092")(
        verify
    )
    app.command(
        "failover", epilog="Example: barnabas mirror failover --from A=a:9092 --to B=b:9092"
    )(failover)
    app.command(
        "failback", epilog="Example: barnabas mirror failback --from A=a:9092 --to B=b:9092"
    )(failback)


def status(
    ctx: typer.Context,
    source: Source,
    target: Target,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    window: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long throughput is measured.")
    ] = 1.0,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show lag, throughput and translated groups."""

    async def show(flow: "Flow", as_json: bool) -> None:
        from barnabas.cli.mirror.output import print_status
        from barnabas.mirror.operations.mirror_clients import connect
        from barnabas.mirror.operations.status import collect_status

        async with connect(flow) as clients:
            found = await collect_status(flow, clients, window)
        print_json(found.as_dict()) if as_json else print_status(found)

    ends = (source, target, source_config, target_config, names, provenance)
    _run(ctx, ends, show, as_json=as_json, verbose=verbose)


def verify(
    ctx: typer.Context,
    source: Source,
    target: Target,
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="Default: all topics.", show_default=False),
    ] = None,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    last: Annotated[
        int, typer.Option(metavar="OFFSETS", min=1, help="How much of each partition is compared.")
    ] = 1_000_000,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Compare the records of both clusters while data flows.

    The exit code is 1 if a copied record is missing, changed, out of order or there twice.
    """

    async def show(flow: "Flow", as_json: bool) -> int:
        from barnabas.cli.mirror.output import print_comparisons
        from barnabas.mirror.operations.mirror_clients import connect
        from barnabas.mirror.operations.verify import verify

        async with connect(flow) as clients:
            found = await verify(flow, clients, topics=topics or (), last=last)
        print_json([asdict(each) for each in found]) if as_json else print_comparisons(found)
        return exit_codes.OK if all(each.is_equal for each in found) else exit_codes.FAILURE

    ends = (source, target, source_config, target_config, names, provenance)
    _run(ctx, ends, show, as_json=as_json, verbose=verbose)


def failover(
    ctx: typer.Context,
    source: Source,
    target: Target,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    wait: Wait = 60.0,
    force: Annotated[
        bool, typer.Option("--force", help="Do not wait until everything is copied.")
    ] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Stop the flow, make groups ready in the target, and say what was not copied.

    If the source is reachable, stop its producers first: the lag has to become 0.
    """

    async def show(flow: "Flow", as_json: bool) -> None:
        from barnabas.cli.mirror.output import print_failover
        from barnabas.mirror.operations.failover import failover
        from barnabas.mirror.operations.mirror_clients import connect

        async with connect(flow) as clients:
            report = await failover(flow, clients, wait_s=wait, force=force)
        if as_json:
            print_json(asdict(report))
        else:
            print_failover(report, flow.source.name, flow.target.name)

    ends = (source, target, source_config, target_config, names, provenance)
    _run(ctx, ends, show, as_json=as_json, verbose=verbose)


def failback(
    ctx: typer.Context,
    source: Source,
    target: Target,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    prepare_only: Annotated[
        bool, typer.Option("--prepare", help="Only set where the flow back begins.")
    ] = False,
    wait: Wait = 60.0,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Bring back what the source is missing, and take groups back to it.

    Give the clusters as for failover. Prepare before you start the flow back; then run both flows,
    stop the producers of the target, and run this without --prepare.
    """

    async def show(flow: "Flow", as_json: bool) -> None:
        from barnabas.mirror.operations.failback import complete, prepare
        from barnabas.mirror.operations.mirror_clients import connect

        async with connect(flow) as clients:
            begun = await prepare(flow, clients)
            report = None if prepare_only else await complete(flow, clients, wait_s=wait)
        groups = [] if report is None else report.groups
        positions = {str(partition): offset for partition, offset in begun.items()}
        if as_json:
            print_json({"begins": positions, "groups": [_group_as_json(each) for each in groups]})
            return
        for name, offset in positions.items():
            print_line(f"the flow back begins {name} at offset {offset}")
        for each in groups:
            state = "has members there, left alone" if each.is_active else "ready"
            print_line(f"group {each.group}: {state}")
        if report is not None:
            print_line(f"both clusters have everything: {flow.source.name} can take over")

    ends = (source, target, source_config, target_config, names, provenance)
    _run(ctx, ends, show, as_json=as_json, verbose=verbose)


def _group_as_json(group: "SyncedGroup") -> dict[str, object]:
    offsets = {str(each.partition): each.downstream_offset for each in group.checkpoints}
    return {"group": group.group, "is_active": group.is_active, "offsets": offsets}


def _run(
    ctx: typer.Context,
    ends: tuple[Any, ...],
    show: "Callable[[Flow, bool], Coroutine[Any, Any, int | None]]",
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    before = common_options(ctx)

    def call() -> int | None:
        from barnabas.cli.base.runner import run_async

        return run_async(show(flow_of(*ends), as_json or before.as_json))

    exit_with(call, verbose=verbose or before.verbose)
