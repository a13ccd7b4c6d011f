"""`barnabas groups`: list, describe, reset and delete groups of all types."""

from enum import StrEnum
from typing import Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.completion import complete_group, complete_topic
from barnabas.cli.base.output import print_json, print_line, print_table, say

app = typer.Typer(no_args_is_help=True, help="List, describe, reset and delete groups.")

Groups = Annotated[
    list[str],
    typer.Argument(
        metavar="GROUP", help="Names of groups.", show_default=False, autocompletion=complete_group
    ),
]


class Type(StrEnum):
    """Types of groups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


@app.command("list", epilog="Example: barnabas groups list --type consumer")
@cluster_command
async def list_(
    session: Session,
    types: Annotated[
        list[Type] | None,
        typer.Option("--type", help="Only groups of this type; may be repeated."),
    ] = None,
) -> None:
    """List groups."""
    from barnabas.client.admin.group_members import GroupType
    from barnabas.client.admin.groups import list_groups
    from barnabas.client.group.progress_groups import purpose_of

    async with session.connect() as cluster:
        groups = await list_groups(cluster, [GroupType(each.value) for each in types or ()])
    if session.as_json:
        print_json(
            [
                {
                    "group": group.group_id,
                    "type": group.group_type.value,
                    "state": group.state,
                    "protocol_type": group.protocol_type,
                    "coordinator": group.coordinator,
                    "records_progress": purpose_of(group.group_id) is not None,
                }
                for group in groups
            ]
        )
        return
    print_table(
        ("group", "type", "state", "protocol", "coordinator", "records progress"),
        [
            (
                group.group_id,
                group.group_type.value,
                group.state,
                group.protocol_type,
                group.coordinator,
                "no" if purpose_of(group.group_id) is None else "yes",
            )
            for group in groups
        ],
    )


@app.command("describe", epilog="Example: barnabas groups describe billing")
@cluster_command
async def describe(session: Session, groups: Groups) -> None:
    """Show members, assignments, offsets, lag and deliveries."""
    from barnabas.cli.admin.group_output import group_as_json, print_group
    from barnabas.client.admin.group_offsets import describe_offsets
    from barnabas.client.admin.groups import describe_group

    described = []
    async with session.connect() as cluster:
        for group_id in groups:
            group = await describe_group(cluster, group_id)
            described.append((group, await describe_offsets(cluster, group)))
    if session.as_json:
        print_json([group_as_json(*each) for each in described])
        return
    for number, each in enumerate(described):
        if number:
            print_line()
        print_group(*each)


@app.command("lag", epilog="Example: barnabas groups lag --watch")
@cluster_command
async def lag(
    session: Session,
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]...",
            help="Default: all groups.",
            show_default=False,
            autocompletion=complete_group,
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C, and show changes.")
    ] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Refresh interval of --watch.")
    ] = 2.0,
) -> None:
    """Show how far groups are behind, by topic.

    BEHIND counts the partitions that are not read to their end, LAG their records. With --watch,
    CHANGE/S says how fast the lag grows, or shrinks if it is negative. In a pipe each look is
    printed, with --json in one line, until Ctrl-C.
    """
    from barnabas.cli.admin.group_lag import lag_by_topic
    from barnabas.cli.admin.group_lag_watch import watch_lag

    async with session.connect() as cluster:
        if watch:
            await watch_lag(cluster, groups or None, interval, as_json=session.as_json)
            return
        rows = await lag_by_topic(cluster, groups or None)
    if session.as_json:
        print_json([row._asdict() for row in rows])
    else:
        print_table(("group", "topic", "behind", "lag"), rows)


@app.command(
    "reset-offsets",
    epilog="Example: barnabas groups reset-offsets billing --topic orders --to-earliest --execute",
)
@cluster_command
async def reset_offsets(
    session: Session,
    group: Annotated[
        str,
        typer.Argument(
            metavar="GROUP", help="Group.", show_default=False, autocompletion=complete_group
        ),
    ],
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC[:N,...]",
            help="Topic, or some of its partitions; may be repeated.",
            autocompletion=complete_topic,
        ),
    ] = None,
    all_topics: Annotated[
        bool,
        typer.Option("--all-topics", help="Reset every partition that the group has committed."),
    ] = False,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="Move to the oldest records.")
    ] = False,
    to_latest: Annotated[
        bool, typer.Option("--to-latest", help="Move past the newest records.")
    ] = False,
    to_offset: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Move to this offset.")
    ] = None,
    to_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Move to a time: ISO 8601, epoch ms, or '10m ago'."),
    ] = None,
    shift_by: Annotated[
        int | None,
        typer.Option(metavar="N", help="Move forward by N records, backward if negative."),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute/--dry-run", help="Apply the plan, or only show it.")
    ] = False,
) -> None:
    """Move the committed offsets of a group without members.

    Shows the plan; --execute applies it. Offsets outside the log are moved to its start or end.
    """
    from barnabas.cli.admin.group_reset import TargetOptions, plan_of_options
    from barnabas.client.admin.group_reset import apply_reset

    target = TargetOptions(to_earliest, to_latest, to_offset, to_time, shift_by)
    async with session.connect() as cluster:
        plan = await plan_of_options(cluster, group, topic or [], target, all_topics=all_topics)
        if execute:
            await apply_reset(cluster, group, plan)
    rows = [
        (each.partition.topic, each.partition.partition, each.current, each.new) for each in plan
    ]
    if session.as_json:
        keys = ("topic", "partition", "current_offset", "new_offset")
        offsets = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json({"group": group, "executed": execute, "offsets": offsets})
        return
    print_table(("topic", "partition", "current", "new"), rows)
    if not execute:
        say("nothing was changed; add --execute to apply the plan")


@app.command("delete", epilog="Example: barnabas groups delete billing")
@cluster_command
async def delete(
    session: Session,
    groups: Groups,
    forget_progress: Annotated[
        bool,
        typer.Option(
            "--forget-progress",
            help="Also groups in which a mirror, a replay of dead letters, delays or retries "
            "record their progress: without them, work is done again.",
        ),
    ] = False,
) -> None:
    """Delete groups without members, and their committed offsets."""
    from barnabas.client.admin.groups import delete_groups
    from barnabas.client.group.progress_groups import purpose_of

    for group in groups:
        purpose = purpose_of(group)
        if purpose is not None and not forget_progress:
            raise CommandError(
                f"group {group} is not deleted: {purpose}. If that is what you want, add "
                "--forget-progress"
            )
    async with session.connect() as cluster:
        results = await delete_groups(cluster, groups)
    if session.as_json:
        print_json(
            [
                {"group": name, "deleted": error is None, "error": error and str(error)}
                for name, error in results.items()
            ]
        )
    for name, error in results.items():
        if error is None and not session.as_json:
            say(f"deleted group {name}")
    failures = [str(error) for error in results.values() if error is not None]
    if failures:
        raise CommandError("; ".join(failures))
