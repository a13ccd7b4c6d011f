"""`barnabas mirror status, verify, failover, failback`: they need no driver."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.output import print_json, print_line
from barnabas.cli.base.progress import progress_line
from barnabas.cli.mirror.flow_options import (
    ExcludedGroups,
    ExcludedTopics,
    Groups,
    TopicNames,
    flow_command,
    group_settings,
)

if TYPE_CHECKING:
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.groups.group_sync import SyncedGroup

Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="How long to wait without progress.")
]


def add_operations(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for look in (status, verify, failover, failback):
        name = look.__name__
        example = f"Example: barnabas mirror {name} --from A=a:9092 --to B=b:9092"
        app.command(name, epilog=example)(flow_command(look))


async def status(
    mirrored: "ConfiguredFlow",
    as_json: bool,
    window: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long throughput is measured.")
    ] = 1.0,
) -> None:
    """Show lag, throughput and translated groups."""
    from barnabas.cli.mirror.output import print_status
    from barnabas.mirror.operations.mirror_clients import connect
    from barnabas.mirror.operations.never_copied import never_copied
    from barnabas.mirror.operations.status import collect_status

    flow = mirrored.flow
    async with connect(flow) as clients:
        found = await collect_status(flow, clients, window)
        if clients.source is not None:
            missing = await never_copied(flow, clients, only_known=True)
            found = replace(found, never_copied=missing)
    print_json(found.as_dict()) if as_json else print_status(found)


async def verify(
    mirrored: "ConfiguredFlow",
    as_json: bool,
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="Default: all topics.", show_default=False),
    ] = None,
    last: Annotated[
        int, typer.Option(metavar="OFFSETS", min=1, help="How much of each partition is compared.")
    ] = 1_000_000,
) -> int:
    """Compare the records of both clusters while data flows.

    The exit code is 1 if a copied record is missing, changed, out of order or there twice.
    """
    from barnabas.cli.mirror.output import print_comparisons
    from barnabas.mirror.operations.mirror_clients import connect
    from barnabas.mirror.operations.verify import verify

    flow = mirrored.flow
    async with connect(flow) as clients:
        found = await verify(flow, clients, topics=topics or (), last=last)
    print_json([asdict(each) for each in found]) if as_json else print_comparisons(found)
    return exit_codes.OK if all(each.is_equal for each in found) else exit_codes.FAILURE


async def failover(
    mirrored: "ConfiguredFlow",
    as_json: bool,
    groups: Groups = None,
    exclude_groups: ExcludedGroups = None,
    wait: Wait = 60.0,
    force: Annotated[
        bool, typer.Option("--force", help="Do not wait until everything is copied.")
    ] = False,
) -> None:
    """Stop the flow, make groups ready in the target, and say what was not copied.

    If the source is reachable, stop its producers first: the lag has to become 0.
    """
    from barnabas.cli.mirror.output import print_failover
    from barnabas.mirror.operations.failover import failover
    from barnabas.mirror.operations.mirror_clients import connect

    flow = mirrored.flow
    taken = group_settings(groups, exclude_groups, mirrored.groups)
    async with connect(flow) as clients:
        with progress_line() as show:
            report = await failover(flow, clients, taken, wait_s=wait, force=force, show=show)
    if as_json:
        print_json(asdict(report))
    else:
        print_failover(report, flow.source.name, flow.target.name)


async def failback(
    mirrored: "ConfiguredFlow",
    as_json: bool,
    prepare_only: Annotated[
        bool, typer.Option("--prepare", help="Only set where the flow back begins.")
    ] = False,
    topics: TopicNames = None,
    exclude: ExcludedTopics = None,
    groups: Groups = None,
    exclude_groups: ExcludedGroups = None,
    wait: Wait = 60.0,
) -> None:
    """Bring back what the source is missing, and take groups back to it.

    Give the clusters as for failover, and topics as for both flows (default: all). Prepare before
    you start the flow back; then run both flows, stop the producers of the target, and run this
    without --prepare.
    """
    from dataclasses import replace

    from barnabas.mirror.mirror_maker.file_settings import listed
    from barnabas.mirror.operations.failback import complete, prepare
    from barnabas.mirror.operations.mirror_clients import connect

    flow = mirrored.flow
    if topics is not None:
        flow = replace(flow, topics=listed(topics))
    if exclude is not None:
        flow = replace(flow, exclude=listed(exclude))
    taken = group_settings(groups, exclude_groups, mirrored.groups)
    async with connect(flow) as clients:
        begun = await prepare(flow, clients)
        with progress_line() as show:
            report = (
                None
                if prepare_only
                else await complete(flow, clients, taken, wait_s=wait, show=show)
            )
    returned = [] if report is None else report.groups
    positions = {str(partition): offset for partition, offset in begun.items()}
    if as_json:
        print_json({"begins": positions, "groups": [_group_as_json(each) for each in returned]})
        return
    for name, offset in positions.items():
        print_line(f"the flow back begins {name} at offset {offset}")
    for each in returned:
        state = "has members there, left alone" if each.is_active else "ready"
        print_line(f"group {each.group}: {state}")
    if report is not None:
        print_line(f"both clusters have everything: {flow.source.name} can take over")


def _group_as_json(group: "SyncedGroup") -> dict[str, object]:
    offsets = {str(each.partition): each.downstream_offset for each in group.checkpoints}
    return {"group": group.group, "is_active": group.is_active, "offsets": offsets}
