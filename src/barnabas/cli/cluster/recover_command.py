"""The options of `barnabas cluster recover`."""

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, UsageError
from barnabas.cli.base.output import print_json, say
from barnabas.quantities import counted

EPILOG = "Example: barnabas cluster recover --data /var/lib/barnabas"


async def recover(
    session: Session,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC[:N,...]", help="Topics, or some of their partitions.", show_default=False
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Data directory of a stopped node, to rebuild the cluster from it alone.",
            show_default=False,
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Recover. Default: only show what there is.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Show what replicas have, and recover.

    Without --data, in a running cluster: partitions without a leader, or below
    min.insync.replicas. --apply elects the best replica where there is no leader; acknowledged
    records that it lacks are LOST.

    With --data, on a stopped node: what it has of every partition. --apply makes it the only voter
    and in-sync replica, for when most voters have lost their data. Then start it, and the other
    nodes with empty directories.
    """
    if data is not None:
        from barnabas.cli.cluster.rebuild import recover_data

        if names:
            raise UsageError("--data is about all partitions of a node; leave out TOPIC")
        recover_data(data, apply=apply, yes=yes, as_json=session.as_json)
        return
    await _recover_online(session, names, apply=apply, yes=yes)


async def _recover_online(
    session: Session, names: list[str] | None, *, apply: bool, yes: bool
) -> None:
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.cli.cluster.recovery import ailing_partitions, as_json, print_ailing
    from barnabas.client.admin.reassignments import elect_leaders

    async with session.connect() as cluster:
        wanted = None if not names else await named_partitions(cluster, names)
        found = await ailing_partitions(cluster, wanted)
        electable = [each.partition for each in found if each.would_lead is not None]
        if not session.as_json:
            print_ailing(found) if found else say(
                "all partitions have a leader and min.insync.replicas in sync; `barnabas cluster "
                "status` also shows those with fewer replicas than they should have"
            )
        if apply and electable:
            if not yes:
                typer.confirm(
                    f"Elect leaders of {counted(len(electable), 'partition')}, and lose what is "
                    "said above?",
                    abort=True,
                    err=True,
                )
            results = await elect_leaders(cluster, electable, unclean=True)
            errors = [error for error in results.values() if error is not None]
        else:
            results, errors = {}, []
    if session.as_json:
        elected = {name for name, error in results.items() if error is None}
        pairs = zip(found, as_json(found), strict=True)
        print_json([{**shown, "elected": each.partition in elected} for each, shown in pairs])
    elif apply and results:
        say(f"elected leaders of {counted(len(results) - len(errors), 'partition')}")
    elif electable:
        say("nothing was changed; elect the leaders with --apply")
    if errors:
        raise CommandError("; ".join(str(error) for error in errors[:5]))
