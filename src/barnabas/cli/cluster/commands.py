"""`barnabas cluster`: look at a cluster, let nodes join and leave, move replicas and leaders."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.client.admin.reassignments import Results
    from barnabas.client.connect.cluster_metadata import TopicPartition

app = typer.Typer(
    no_args_is_help=True,
    help="Look at a cluster, let nodes join and leave, move replicas and leaders.",
)

NodeId = Annotated[
    int, typer.Argument(metavar="ID", help="The node's number.", show_default=False, min=0)
]
Partitions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC[:N,...]", help="Topics, or some of their partitions.", show_default=False
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_INTERVAL_S = 2.0


@app.command("status", epilog="Example: barnabas cluster status --watch")
@cluster_command
async def status(
    session: Session,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How often, with --watch.")
    ] = _INTERVAL_S,
) -> int:
    """Show nodes, quorum and partitions that lack something.

    The exit code is 0 if all is well, 1 if a node is away or a partition lacks replicas.
    """
    from barnabas.cli.cluster.status import collect
    from barnabas.cli.cluster.status_output import connect_briefly, print_status, watch_status

    if watch:
        await watch_status(session, interval)
    async with connect_briefly(session) as cluster:
        found = await collect(cluster)
    print_status(found, as_json=session.as_json)
    return exit_codes.OK if found.is_healthy else exit_codes.FAILURE


@app.command("add-node", epilog="Example: barnabas cluster add-node 4 --rebalance")
@cluster_command
async def add_node(
    session: Session,
    node_id: NodeId,
    vote: Annotated[
        bool, typer.Option("--vote/--no-vote", help="Whether it votes for the controller.")
    ] = True,
    rebalance: Annotated[
        bool, typer.Option("--rebalance", help="Move its share of all replicas to it.")
    ] = False,
) -> None:
    """Let a running node vote, and give it replicas.

    Start it first, with the voters that there are: barnabas server --id ID --voters ...
    It serves clients from then on; new topics use it at once.
    """
    from barnabas.cli.cluster.membership import add_node, spread_replicas

    async with session.connect() as cluster:
        said = await add_node(cluster, node_id) if vote else None
        moved = await spread_replicas(cluster) if rebalance else None
    if session.as_json:
        print_json({"node": node_id, "votes": said is not None, "moved_partitions": moved})
        return
    if said is not None:
        say(said)
    if moved is not None:
        say(f"moved {moved} partitions" if moved else "replicas are spread evenly already")


@app.command("remove-node", epilog="Example: barnabas cluster remove-node 4")
@cluster_command
async def remove_node(
    session: Session,
    node_id: NodeId,
    fewer_replicas: Annotated[
        bool,
        typer.Option(
            "--fewer-replicas",
            help="Where there is no other node left for a replica, do without it.",
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Whether to wait until the node is stopped.")
    ] = True,
) -> None:
    """Take a node out for good: its replicas, its vote, and its registration.

    Replicas are moved while it still serves. Then it has to be stopped, unless it is gone already.
    """
    from barnabas.cli.cluster.membership import remove_node

    async with session.connect() as cluster:
        moved, gone = await remove_node(cluster, node_id, fewer_replicas=fewer_replicas, wait=wait)
    if session.as_json:
        print_json({"node": node_id, "moved_partitions": moved, "unregistered": gone})
    elif gone:
        say(f"node {node_id} is out of the cluster; its data can be deleted")
    else:
        say(f"stop node {node_id}, then run `barnabas cluster remove-node {node_id}` once more")


@app.command("drain", epilog="Example: barnabas cluster drain 2")
@cluster_command
async def drain(
    session: Session,
    node_id: NodeId,
    replicas: Annotated[
        bool, typer.Option("--replicas", help="Move its replicas away too, not only leadership.")
    ] = False,
) -> None:
    """Let a node lead nothing any more, and keep nothing if wanted. It stays in the cluster.

    A node that is stopped does so by itself; this is for one that shall go on running. To undo
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
        kept = f"; {drained.moved} partitions moved" if replicas else ""
        say(f"node {node_id} is down and leads nothing{kept}")
    else:
        say(f"node {node_id}: {drained.moved} partitions moved")
    if drained.leading:
        raise CommandError(
            f"node {node_id} still leads {_some(drained.leading)}: no other in-sync replica is up"
        )
    if drained.stuck:
        raise CommandError(
            f"{len(drained.stuck)} partitions have no other node to go to: {_some(drained.stuck)}"
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
            help="The nodes to move to, the preferred leader first. For several partitions the "
            "preferred leader changes from one to the next.",
        ),
    ] = None,
    cancel: Annotated[
        bool,
        typer.Option("--cancel", help="Call moves off that are under way; all of them by default."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Whether to wait until it is done.")
    ] = True,
) -> None:
    """Move replicas of partitions to other nodes, or change how many there are."""
    from barnabas.cli.cluster.move import cancel_moves, move_to

    if cancel == (to is not None):
        raise UsageError("give either --to ID,... or --cancel")
    async with session.connect() as cluster:
        if cancel:
            count = await cancel_moves(cluster, names)
        else:
            count = await move_to(cluster, names or [], to or "", wait=wait)
    if session.as_json:
        print_json({"partitions": count, "cancelled": cancel, "done": cancel or wait})
        return
    if cancel:
        say(f"called {count} moves off")
    else:
        say(f"{'moved' if wait else 'began to move'} {count} partitions")


@app.command("elect", epilog="Example: barnabas cluster elect orders:0")
@cluster_command
async def elect(
    session: Session,
    names: Partitions = None,
    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean",
            help="Let the replica lead that has most where none in sync is left. Acknowledged "
            "records that it lacks are LOST.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --unclean: only show what each replica has."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Let the preferred replicas lead, of all partitions by default.

    With --unclean, shows what each replica of a partition without a leader has, and lets the one
    with most lead. What the others have beyond that is kept in a directory beside their logs.
    """
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.cli.cluster.unclean_election import as_json, print_prospects, prospects
    from barnabas.client.admin.reassignments import elect_leaders

    if dry_run and not unclean:
        raise UsageError("--dry-run goes with --unclean")
    async with session.connect() as cluster:
        partitions = None if not names else await named_partitions(cluster, names)
        if unclean:
            found = await prospects(cluster, partitions)
            if dry_run and session.as_json:
                print_json(as_json(found))
                return
            if found and not session.as_json:
                print_prospects(found)
            if dry_run or (found and not yes and not _is_confirmed()):
                return
        results = await elect_leaders(cluster, partitions, unclean=unclean)
    _report_elections(session, results)


def _is_confirmed() -> bool:
    return typer.confirm(
        "Acknowledged records that only the missing replicas have will be lost. Go on?",
        abort=True,
        err=True,
    )


@app.command("rebalance-leaders", epilog="Example: barnabas cluster rebalance-leaders")
@cluster_command
async def rebalance_leaders(session: Session) -> None:
    """Let every preferred replica lead that is in sync, so that all nodes lead their share."""
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
        say(f"elected leaders of {elected} partitions")
    else:
        say("no election is needed")
    if errors:
        more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise CommandError("; ".join(str(error) for error in errors[:5]) + more)
