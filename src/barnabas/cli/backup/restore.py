"""`barnabas backup restore`: restore a cluster, or some topics."""

from typing import Annotated

import typer

from barnabas.cli.backup.arguments import Groups, Place, Rate, Topics, check_patterns, chosen
from barnabas.cli.backup.key_file import CheckWith, read_key
from barnabas.cli.base.command import Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, say
from barnabas.cli.base.progress import ProgressLine
from barnabas.quantities import counted, human_size

EPILOG = "Example: barnabas backup restore /backups/orders --at '2h ago'"


@cluster_command
async def restore(
    session: Session,
    place: Place,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="Restore what there was then: 2026-01-31T12:00, '2h ago'."
        ),
    ] = None,
    point: Annotated[
        int | None,
        typer.Option("--point", metavar="N", help="Restore point N of `show`, not the last one."),
    ] = None,
    topic: Topics = None,
    group: Groups = None,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Put this in front of names of topics and groups.")
    ] = "",
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor", min=1, help="Replicas of each topic. Default: as it had."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted restore.")
    ] = False,
    allow_existing: Annotated[
        bool,
        typer.Option("--allow-existing", help="Restore into a cluster that has other topics."),
    ] = False,
    rate: Rate = None,
    key_file: CheckWith = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Restore a signed backup without its key.")
    ] = False,
) -> None:
    """Restore topics, groups' offsets, settings, ACLs and quotas.

    The target has to be empty. Records get offsets from 0 on without gaps, and the offsets of
    groups are translated. With --topic or --prefix, settings of brokers, ACLs and quotas are left
    out. With --key-file, a backup that is not signed with this key is refused.
    """
    import time
    from asyncio import CancelledError

    from barnabas.backup.points import point_name, read_points
    from barnabas.backup.restore import RestoreOptions, RestoreRun
    from barnabas.backup.restore_plan import plan_restore
    from barnabas.backup.signature import check_before_restore
    from barnabas.backup.store import open_store
    from barnabas.cli.base.times import parse_time

    check_patterns(topic, group)
    if at is not None and point is not None:
        raise UsageError("give either --at or --point")
    if key_file is not None and unverified:
        raise UsageError("give either --key-file or --unverified")
    key = read_key(key_file, place)
    at_ms = None if at is None else parse_time(at, time.time_ns() // 1_000_000)
    store = open_store(place)
    plan = plan_restore(chosen(read_points(store), point), at_ms)
    used = {point_name(each): each for each in plan.points}
    check_before_restore(used, key, unverified=unverified)
    if key is None:
        say(
            f"warning: not verified: anyone who can write to {store.description} may have changed "
            f"records, settings, {counted(len(plan.point.acls), 'ACL')} and "
            f"{counted(len(plan.point.quotas), 'quota')}; sign backups with --key-file"
        )
    options = RestoreOptions(
        topic or (), group or (), prefix, replication_factor, resume, allow_existing, rate
    )
    line = ProgressLine()

    def show(done: int, total: int) -> None:
        line.show(f"restored {human_size(done)} of {human_size(total)}")

    async with session.connect() as cluster:
        try:
            restored = await RestoreRun(cluster, store, plan, options, show).run()
        except CancelledError:
            line.end()
            say("interrupted; continue with the same command and --resume")
            raise
        finally:
            line.end()
    if session.as_json:
        print_json(
            {
                "topics": restored.topics,
                "records": restored.records,
                "groups": restored.groups,
                "acls": restored.acls,
                "problems": restored.problems,
            }
        )
        return
    say(
        f"restored {counted(restored.topics, 'topic')} with "
        f"{counted(restored.records, 'record')}, {counted(restored.groups, 'group')}, "
        f"{counted(restored.acls, 'ACL')}"
    )
    for problem in restored.problems:
        say(f"to do: {problem}")
