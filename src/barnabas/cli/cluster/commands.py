"""`barnabas cluster`: show a cluster, add and remove nodes, move replicas and leaders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, say
from barnabas.cli.cluster import balance_command, recover_command, upgrade_command
from barnabas.cli.cluster.doctor import command as doctor
from barnabas.cli.cluster.top import command as top
from barnabas.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.client.admin.reassignments import Results
    from barnabas.client.connect.cluster_metadata import TopicPartition

app = typer.Typer(
    no_args_is_help=True,
    help="Show a cluster, add and remove nodes, move replicas.",
)

NodeId = Annotated[int, typer.Argument(metavar="ID", help="Node id.", show_default=False, min=0)]
Partitions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC[:N,...]", help="Topics, or some of their partitions.", show_default=False
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]

Throttle = Annotated[
    int | None,
    typer.Option(
        "--throttle",
        metavar="BYTES",
        min=1,
        help="Bytes per second that each node copies at most for these moves.",
    ),
]

_INTERVAL_S = 2.0


@app.command("status", epilog="Example: barnabas cluster status --wait 600")
@cluster_command
async def status(
    session: Session,
    wait: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Wait until the cluster is healthy, so long at most."
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Refresh interval of --watch.")
    ] = _INTERVAL_S,
) -> int:
    """Show nodes, quorum, and partitions with problems.

    The exit code is 0 if the cluster is healthy, 1 if a node is down or a partition is
    under-replicated. What this user may not see is named; with --wait the exit code is 1 then.
    """
    from barnabas.cli.cluster.status_output import connect_briefly, print_status, watch_status
    from barnabas.cli.cluster.status_wait import wait_until_healthy
    from barnabas.diagnosis.status import collect

    if watch and wait is not None:
        raise UsageError("give either --watch or --wait")
    if watch:
        await watch_status(session, interval)
    if wait is not None:
        found = await wait_until_healthy(session, wait)
    else:
        async with connect_briefly(session) as cluster:
            found = await collect(cluster)
    print_status(found, as_json=session.as_json)
    is_seen = wait is None or not found.unknown
    return exit_codes.OK if found.is_healthy and is_seen else exit_codes.FAILURE


app.command("doctor", epilog=doctor.EPILOG)(cluster_command(doctor.doctor))
app.command("top", epilog=top.EPILOG)(cluster_command(top.top))


@app.command(
    "add-node",
    epilog="""\b
Examples:
  barnabas cluster add-node 4 --rebalance
  barnabas cluster add-node --local barnabas-data --rebalance
""",
)
@cluster_command
async def add_node(
    session: Session,
    node_id: Annotated[
        int | None, typer.Argument(metavar="ID", help="Node id.", show_default=False, min=0)
    ] = None,
    local: Annotated[
        Path | None,
        typer.Option(
            "--local",
            metavar="DIR",
            help="Start one more node of the local cluster that runs with its data in DIR.",
            show_default=False,
        ),
    ] = None,
    vote: Annotated[
        bool, typer.Option("--vote/--no-vote", help="Make the node a voter of the quorum.")
    ] = True,
    rebalance: Annotated[
        bool, typer.Option("--rebalance", help="Move a fair share of all replicas to the node.")
    ] = False,
    throttle: Throttle = None,
) -> None:
    """Make a running node a voter, and move replicas to it.

    Start the node first, with the current voters: barnabas server --id ID --voters ...
    New topics use it immediately. With --local DIR this starts the node too, and nodes become
    voters as far as their number stays odd, up to five.
    """
    from barnabas.cli.cluster.membership import add_node, spread_replicas

    if throttle is not None and not rebalance:
        raise UsageError("--throttle needs --rebalance")
    if (node_id is None) is (local is None):
        raise UsageError("give the id of a node that runs, or --local DIR to start one")
    if local is not None:
        from barnabas.cli.cluster.local_node import add_local_node

        await add_local_node(session, local, vote=vote, rebalance=rebalance, throttle=throttle)
        return
    assert node_id is not None
    async with session.connect() as cluster:
        said = await add_node(cluster, node_id) if vote else None
        moved = await spread_replicas(cluster, throttle) if rebalance else None
    if session.as_json:
        print_json({"node": node_id, "votes": said is not None, "moved_partitions": moved})
        return
    if said is not None:
        say(said)
    if moved is not None:
        say(f"moved {counted(moved, 'partition')}" if moved else "replicas are already balanced")


@app.command(
    "restart",
    epilog="""\b
Examples:
  barnabas cluster restart --local barnabas-data
  barnabas cluster restart --command "ssh {host} sudo systemctl restart barnabas"
""",
)
@cluster_command
async def restart(
    session: Session,
    local: Annotated[
        Path | None,
        typer.Option(
            "--local",
            metavar="DIR",
            help="Restart the nodes of the local cluster that runs with its data in DIR.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="COMMAND",
            help="Shell command that restarts a node; {host}, {port} and {id} are replaced.",
            show_default=False,
        ),
    ] = None,
    nodes: Annotated[
        list[int] | None,
        typer.Option("--node", metavar="ID", help="Restart only this node; repeatable.", min=0),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="Maximum time until the cluster is healthy again."
        ),
    ] = 600.0,
) -> None:
    """Restart nodes one by one (rolling restart).

    Each is restarted when the cluster is healthy, the active controller last. If a node does not
    come back, the others are not restarted. COMMAND has to return when the node runs again.
    """
    from barnabas.cli.cluster.rolling_restart import restart_by_command, restart_local

    only = nodes or []
    if local is not None and command is None:
        await restart_local(session, local, only, wait)
    elif command is not None and local is None:
        await restart_by_command(session, command, only, wait)
    else:
        raise UsageError("give --local DIR, or --command with what restarts a node")


@app.command("remove-node", epilog="Example: barnabas cluster remove-node 4")
@cluster_command
async def remove_node(
    session: Session,
    node_id: NodeId,
    fewer_replicas: Annotated[
        bool,
        typer.Option(
            "--fewer-replicas",
            help="Drop replicas that no other node has room for.",
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until the node is stopped.")
    ] = True,
    throttle: Throttle = None,
) -> None:
    """Remove a node from the cluster.

    It loses its replicas, its vote and its registration. The replicas move while the node still
    serves clients. Then stop it.
    """
    from barnabas.cli.cluster.membership import remove_node

    async with session.connect() as cluster:
        moved, gone = await remove_node(
            cluster,
            node_id,
            fewer_replicas=fewer_replicas,
            wait=wait,
            bytes_per_second=throttle,
        )
    if session.as_json:
        print_json({"node": node_id, "moved_partitions": moved, "unregistered": gone})
    elif gone:
        say(f"removed node {node_id} from the cluster; its data can be deleted")
    else:
        say(f"stop node {node_id}, then run `barnabas cluster remove-node {node_id}` again")


@app.command("drain", epilog="Example: barnabas cluster drain 2")
@cluster_command
async def drain(
    session: Session,
    node_id: NodeId,
    replicas: Annotated[
        bool, typer.Option("--replicas", help="Move its replicas too, not only leadership.")
    ] = False,
) -> None:
    """Move leadership, or all replicas, off a node.

    The node stays in the cluster and keeps running; a node that stops does this by itself. To undo
    it, run: barnabas cluster add-node ID --rebalance
    """
    from barnabas.cli.cluster.membership import drain

    async with session.connect() as cluster:
        drained = await drain(cluster, node_id, replicas=replicas)
    if session.as_json:
        print_json(
            {
                "node": node_id,
                "moved_partitions": drained.moved,
                "leading": [[each.topic, each.partition] for each in drained.leading],
                "stuck": [[each.topic, each.partition] for each in drained.stuck],
            }
        )
    elif drained.was_down and not drained.leading:
        kept = f"; moved {counted(drained.moved, 'partition')}" if replicas else ""
        say(f"node {node_id} is down and leads nothing{kept}")
    else:
        say(f"node {node_id}: moved {counted(drained.moved, 'partition')}")
    if drained.leading:
        raise CommandError(
            f"node {node_id} still leads {_some(drained.leading)}: no other in-sync replica is up"
        )
    if drained.stuck:
        raise CommandError(
            f"no other node can take {counted(len(drained.stuck), 'partition')}: "
            f"{_some(drained.stuck)}; add a node"
        )


def _some(partitions: "Sequence[TopicPartition]") -> str:
    return ", ".join(map(str, partitions[:5])) + ", ..." * (len(partitions) > 5)


@app.command("move", epilog="Example: barnabas cluster move orders:0 --to 1,2,3")
@cluster_command
async def move(
    session: Session,
    names: Partitions = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="ID,...",
            help="Nodes to move to, preferred leader first; rotated over several partitions.",
        ),
    ] = None,
    cancel: Annotated[
        bool,
        typer.Option("--cancel", help="Cancel ongoing moves, by default all."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until the move is complete.")
    ] = True,
    throttle: Throttle = None,
) -> None:
    """Move replicas to other nodes, or change their number."""
    from barnabas.cli.cluster.move import cancel_moves, move_to

    if cancel == (to is not None):
        raise UsageError("give either --to ID,... or --cancel")
    if throttle is not None and (cancel or not wait):
        raise UsageError("--throttle needs --to and --wait: it ends with the move")
    async with session.connect() as cluster:
        if cancel:
            count = await cancel_moves(cluster, names)
        else:
            count = await move_to(
                cluster, names or [], to or "", wait=wait, bytes_per_second=throttle
            )
    if session.as_json:
        print_json({"partitions": count, "cancelled": cancel, "done": cancel or wait})
        return
    if cancel:
        say(f"cancelled {counted(count, 'move')}")
    else:
        say(f"{'moved' if wait else 'started to move'} {counted(count, 'partition')}")


app.command("balance", epilog=balance_command.EPILOG)(balance_command.balance)
app.command("upgrade", epilog=upgrade_command.EPILOG)(upgrade_command.upgrade)
app.command("features", epilog=upgrade_command.FEATURES_EPILOG)(upgrade_command.features)


@app.command("elect", epilog="Example: barnabas cluster elect orders:0")
@cluster_command
async def elect(
    session: Session,
    names: Partitions = None,
    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean",
            help="Elect the replica with the most records if none is in sync; acknowledged records "
            "it lacks are LOST.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --unclean, only show what each replica has."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Elect the preferred leaders of partitions.

    Without arguments, of all partitions. With --unclean, shows what each replica of a partition
    without a leader has, and elects the one with the most records. Records that only the others
    have are kept in their set-aside directory.
    """
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.cli.cluster.recovery import ailing_partitions, as_json, print_ailing
    from barnabas.client.admin.reassignments import elect_leaders

    if dry_run and not unclean:
        raise UsageError("--dry-run needs --unclean")
    async with session.connect() as cluster:
        partitions = None if not names else await named_partitions(cluster, names)
        if unclean:
            ailing = await ailing_partitions(cluster, partitions)
            found = [each for each in ailing if each.is_offline]
            if dry_run and session.as_json:
                print_json(as_json(found))
                return
            if found and not session.as_json:
                print_ailing(found)
            if dry_run or (found and not yes and not _is_confirmed()):
                return
        results = await elect_leaders(cluster, partitions, unclean=unclean)
    _report_elections(session, results)


def _is_confirmed() -> bool:
    return typer.confirm(
        "Acknowledged records that only missing replicas have will be lost. Continue?",
        abort=True,
        err=True,
    )


app.command("recover", epilog=recover_command.EPILOG)(cluster_command(recover_command.recover))


@app.command("rebalance-leaders", epilog="Example: barnabas cluster rebalance-leaders")
@cluster_command
async def rebalance_leaders(session: Session) -> None:
    """Elect all preferred leaders that are in sync."""
    from barnabas.client.admin.reassignments import elect_leaders

    async with session.connect() as cluster:
        results = await elect_leaders(cluster)
    _report_elections(session, results)


def _report_elections(session: Session, results: "Results") -> None:
    errors = [error for error in results.values() if error is not None]
    elected = len(results) - len(errors)
    if session.as_json:
        print_json(
            [
                {
                    "topic": each.topic,
                    "partition": each.partition,
                    "elected": error is None,
                    "error": error and error.code.name,
                }
                for each, error in sorted(results.items())
            ]
        )
    elif results:
        say(f"elected leaders of {counted(elected, 'partition')}")
    else:
        say("no election needed")
    if errors:
        more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise CommandError("; ".join(str(error) for error in errors[:5]) + more)
