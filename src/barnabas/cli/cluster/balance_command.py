"""The options of `barnabas cluster balance`, and what it prints."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.quantities import counted, human_size

if TYPE_CHECKING:
    from barnabas.cli.cluster.balance import BalancePlan
    from barnabas.client.admin.balance import BalanceGoals

EPILOG = "Example: barnabas cluster balance --apply --throttle 50000000"
_GOALS = ("bytes", "rate", "leaders")


@cluster_command
async def balance(
    session: Session,
    apply: Annotated[
        bool, typer.Option("--apply/--plan", help="Carry the plan out, or only show it.")
    ] = False,
    by: Annotated[
        str,
        typer.Option(
            metavar="GOALS", help="What to balance besides replicas: any of bytes,rate,leaders."
        ),
    ] = "bytes,leaders",
    without: Annotated[
        list[int] | None,
        typer.Option("--without", metavar="ID", help="Node to empty; may be repeated."),
    ] = None,
    throttle: Annotated[
        int | None,
        typer.Option(
            "--throttle",
            metavar="BYTES",
            min=1,
            help="Bytes per second that each node copies at most.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", min=0, max=100, help="Difference between nodes that is left alone."
        ),
    ] = 5.0,
    sample: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="How long to measure rates, with --by rate."),
    ] = 10.0,
    cancel_on_interrupt: Annotated[
        bool,
        typer.Option(
            "--cancel-on-interrupt", help="Ctrl-C cancels moves that have begun. Default: leave."
        ),
    ] = False,
) -> None:
    """Even out what nodes carry, or empty a node.

    Replicas of a partition stay on, or get onto, different racks and hosts. Moves that would hardly
    help are not made, and a second run finds nothing to do.
    """
    from barnabas.cli.cluster.balance import apply_plan, make_plan

    goals = _goals(by, tolerance)
    if throttle is not None and not apply:
        raise UsageError("--throttle needs --apply")
    async with session.connect() as cluster:
        plan = await make_plan(cluster, goals, without or (), sample)
        if session.as_json and not apply:
            print_json(_as_json(plan))
        if not session.as_json:
            _print_plan(plan)
        if apply and plan.moves:
            await apply_plan(cluster, plan, throttle, cancel_on_interrupt=cancel_on_interrupt)
    if apply and session.as_json:
        print_json(_as_json(plan))
    elif apply and plan.moves:
        say(f"moved {counted(len(plan.moves), 'partition')}")
    elif plan.moves:
        say("nothing was changed; carry it out with --apply")
    if plan.stuck:
        raise CommandError(
            f"no other node can take {counted(len(plan.stuck), 'partition')} such as "
            f"{plan.stuck[0]}; add a node first"
        )


def _goals(by: str, tolerance: float) -> "BalanceGoals":
    from barnabas.client.admin.balance import BalanceGoals

    named = {each.strip() for each in by.split(",") if each.strip()}
    unknown = sorted(named.difference(_GOALS))
    if unknown:
        raise UsageError(f"--by {unknown[0]}: use any of {', '.join(_GOALS)}")
    return BalanceGoals("bytes" in named, "rate" in named, "leaders" in named, tolerance / 100)


def _print_plan(plan: "BalancePlan") -> None:
    if not plan.moves:
        say("nothing to move: the nodes carry about the same")
        return
    rows = [
        (
            str(each.partition),
            ",".join(map(str, each.removed)) or "-",
            ",".join(map(str, each.added)) or "-",
            f"{each.before[0]} -> {each.after[0]}" if each.before[0] != each.after[0] else "-",
            human_size(each.bytes),
        )
        for each in plan.moves
    ]
    print_table(("partition", "from", "to", "preferred leader", "bytes"), rows)
    say(f"{counted(len(plan.moves), 'move')}, {human_size(plan.bytes)} to copy")


def _as_json(plan: "BalancePlan") -> object:
    return {
        "moves": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "before": each.before,
                "after": each.after,
                "bytes": each.bytes,
            }
            for each in plan.moves
        ],
        "bytes": plan.bytes,
        "stuck": [[each.topic, each.partition] for each in plan.stuck],
    }
