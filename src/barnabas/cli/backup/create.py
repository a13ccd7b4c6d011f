"""`barnabas backup create`: make a backup, or add what is new to one."""

from typing import Annotated

import typer

from barnabas.cli.backup.arguments import Groups, Place, Rate, Topics, check_patterns
from barnabas.cli.backup.key_file import SignWith, read_key
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import Session, cluster_command
from barnabas.cli.base.output import print_json, say
from barnabas.cli.base.progress import ProgressLine
from barnabas.quantities import counted, counted_of, human_size

EPILOG = "Example: barnabas backup create /backups/orders --rate 20000000"


@cluster_command
async def create(
    session: Session,
    place: Place,
    topic: Topics = None,
    group: Groups = None,
    rate: Rate = None,
    full: Annotated[
        bool, typer.Option("--full", help="Copy everything again, not only what is new.")
    ] = False,
    key_file: SignWith = None,
) -> int:
    """Copy topics, groups' offsets, settings, ACLs and quotas.

    A further run into the same place copies only what is new, and adds a point to which the
    cluster can be restored. An interrupted run leaves the points that were there, and the next one
    continues it. The exit code is 1 if something could not be copied.

    With --key-file, the point is signed, and the one that it builds on has to be.
    """
    from asyncio import CancelledError

    from barnabas.backup.create import BackupRun, CreateOptions
    from barnabas.backup.store import open_store

    check_patterns(topic, group)
    line = ProgressLine()

    def show(copied: int, done: int, total: int) -> None:
        line.show(f"copied {human_size(copied)}, {counted_of(done, total, 'partition')} done")

    options = CreateOptions(topic or (), group or (), rate, full, read_key(key_file, place))
    store = open_store(place)
    async with session.connect() as cluster:
        try:
            point, name = await BackupRun(cluster, store, options, show).run()
        except CancelledError:
            line.end()
            say("interrupted; the next run continues with what was copied")
            raise
        finally:
            line.end()
    if session.as_json:
        print_json(
            {
                "point": name,
                "signed": key_file is not None,
                "created_at_ms": point.created_at_ms,
                "topics": len(point.topics),
                "groups": len(point.groups),
                "copied_bytes": point.copied_bytes,
                "bytes": point.bytes,
                "records": point.records,
                "problems": point.problems,
            }
        )
    else:
        say(
            f"copied {human_size(point.copied_bytes)}; {name} has "
            f"{counted(len(point.topics), 'topic')}, {counted(point.records, 'record')}, "
            f"{human_size(point.bytes)}, {counted(len(point.groups), 'group')}"
        )
        for problem in point.problems:
            say(f"warning: {problem}")
    return exit_codes.FAILURE if point.problems else exit_codes.OK
