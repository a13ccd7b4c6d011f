"""`barnabas groups`: list, describe, reset and delete consumer groups."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.output import Cell, counted, print_json, print_line, print_table, say

if TYPE_CHECKING:
    from barnabas.client.admin.groups import GroupMembers
    from barnabas.client.connect.cluster_client import ClusterClient

app = typer.Typer(no_args_is_help=True, help="List, describe, reset and delete consumer groups.")

Groups = Annotated[list[str], typer.Argument(metavar="GROUP", help="Groups.", show_default=False)]


@app.command("list", epilog="Example: barnabas groups list")
@cluster_command
async def list_(session: Session) -> None:
    """List consumer groups."""
    from barnabas.client.admin.groups import list_groups

    async with session.connect() as cluster:
        groups = await list_groups(cluster)
    rows = [
        (group.group_id, group.state, group.protocol_type, group.coordinator) for group in groups
    ]
    if session.as_json:
        keys = ("group", "state", "protocol_type", "coordinator")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table(("group", "state", "type", "coordinator"), rows)


@app.command("describe", epilog="Example: barnabas groups describe billing")
@cluster_command
async def describe(session: Session, groups: Groups) -> None:
    """Show members, assignments, committed offsets and lag."""
    from barnabas.client.admin.groups import describe_group

    async with session.connect() as cluster:
        described = [
            await _describe(cluster, await describe_group(cluster, group_id)) for group_id in groups
        ]
    if session.as_json:
        print_json(described)
        return
    for number, group in enumerate(described):
        if number:
            print_line()
        _print_group(group)


async def _describe(cluster: "ClusterClient", group: "GroupMembers") -> dict[str, object]:
    from barnabas.client.admin.group_offsets import describe_offsets

    offsets = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "committed_offset": offset.committed,
            "end_offset": offset.end,
            "lag": offset.lag,
            "member_id": offset.member_id,
        }
        for partition, offset in (await describe_offsets(cluster, group)).items()
    ]
    return {
        "group": group.group_id,
        "state": group.state,
        "assignor": group.assignor,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [[each.topic, each.partition] for each in member.partitions],
            }
            for member in group.members
        ],
        "offsets": offsets,
    }


def _print_group(group: dict[str, object]) -> None:
    offsets, members = group["offsets"], group["members"]
    assert isinstance(offsets, list)
    assert isinstance(members, list)
    lag = sum(row["lag"] or 0 for row in offsets)
    print_line(
        f"group {group['group']}: {group['state']}, {counted(len(members), 'member')}, lag {lag}"
        + (f", assignor {group['assignor']}" if group["assignor"] else "")
    )
    keys = ("topic", "partition", "committed_offset", "end_offset", "lag", "member_id")
    if offsets:
        rows: list[list[Cell]] = [[row[key] for key in keys] for row in offsets]
        print_table(("topic", "partition", "committed", "end", "lag", "member"), rows)
    if members:
        print_line()
        print_table(
            ("member", "client", "host", "partitions"),
            [
                (
                    each["member_id"],
                    each["client_id"],
                    each["host"],
                    " ".join(f"{topic}-{partition}" for topic, partition in each["partitions"]),
                )
                for each in members
            ],
        )


@app.command(
    "reset-offsets",
    epilog="Example: barnabas groups reset-offsets billing --topic orders --to-earliest --execute",
)
@cluster_command
async def reset_offsets(
    session: Session,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Group.", show_default=False)],
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC[:N,...]", help="Topic, or some of its partitions; may be repeated."
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
    from barnabas.cli.admin.group_reset import Target, apply_reset, plan_reset

    target = Target(to_earliest, to_latest, to_offset, to_time, shift_by)
    async with session.connect() as cluster:
        plan = await plan_reset(cluster, group, topic or [], target, all_topics=all_topics)
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
async def delete(session: Session, groups: Groups) -> None:
    """Delete groups without members, and their committed offsets."""
    from barnabas.client.admin.groups import delete_groups

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
