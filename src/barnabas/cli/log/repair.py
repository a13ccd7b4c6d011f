"""`barnabas log repair`: replace unreadable batches by empty ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_line, say

if TYPE_CHECKING:
    from barnabas.log.offline.repair import DamagedBytes, GarbageBatch
    from barnabas.log.storage import Disk

EPILOG = "Example: barnabas log repair data --partition orders-0 --execute"


@command("as_json")
def repair(
    common: CommonOptions,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Data directory.", show_default=False)
    ],
    partition: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="TOPIC-N",
            help="Partition to repair; may be repeated. Default: all.",
        ),
    ] = None,
    execute: Annotated[
        bool,
        typer.Option("--execute/--dry-run", help="Repair, or only show what would be repaired."),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="Let consumers skip records that are lost for good.",
        ),
    ] = False,
) -> int:
    """Replace unreadable batches by empty ones.

    Stop the server of this data directory first. Offsets do not change; consumers continue after
    the gap. The original bytes are kept in DATA/set-aside. Without --execute nothing is changed.
    The exit code is 1 if something is left to repair. If other nodes have replicas, run it on each
    node. --accept-loss is for partitions with a single replica; other replicas fetch lost records
    from their leader.
    """
    as_json = common.as_json
    return _repair(data, partition or [], execute=execute, accept_loss=accept_loss, as_json=as_json)


def _repair(
    data: Path, wanted: list[str], *, execute: bool, accept_loss: bool, as_json: bool
) -> int:
    from barnabas.log.directory.data_directory import META_FILE
    from barnabas.log.errors import DirectoryLocked, StorageError
    from barnabas.log.offline.repair import GarbageBatch
    from barnabas.log.storage import OsDisk

    disk = OsDisk()
    root = str(data).rstrip("/") or "/"
    if not disk.exists(f"{root}/{META_FILE}"):
        raise CommandError(f"{data} is not a data directory: it has no {META_FILE}")
    try:
        lock = disk.lock(root)
    except DirectoryLocked as error:
        raise CommandError(f"{error}; stop that server first") from error
    except OSError as error:
        raise CommandError(f"{data}: {error.strerror or error}") from error
    batches = damages = losses = 0
    try:
        for found in _found(disk, root, wanted, execute=execute):
            if isinstance(found, GarbageBatch):
                batches += 1
                _print_batch(found, as_json=as_json)
            else:
                damages += 1
                _print_damage(found, as_json=as_json)
        losses = _losses(disk, root, wanted, accept=accept_loss and execute, as_json=as_json)
    except StorageError as error:
        raise CommandError(str(error)) from error
    finally:
        lock.release()
    return max(
        _summary(batches, damages, execute=execute), _loss_summary(losses, accept_loss, execute)
    )


def _found(
    disk: "Disk", root: str, wanted: list[str], *, execute: bool
) -> "Iterator[GarbageBatch | DamagedBytes]":
    import time

    from barnabas.log.offline.repair import examine_log, repair_log

    names = [name for name in sorted(disk.list_directories(root)) if _is_partition(name)]
    for name in wanted:
        if name not in names:
            raise UsageError(f"{root} has no partition {name!r}; use TOPIC-N, such as orders-0")
    for name in names:
        if wanted and name not in wanted:
            continue
        directory = f"{root}/{name}"
        if execute:
            yield from repair_log(disk, directory, time.time_ns() // 1_000_000)
        else:
            yield from examine_log(disk, directory)


def _losses(disk: "Disk", root: str, wanted: list[str], *, accept: bool, as_json: bool) -> int:
    """Show what logs have lost, and perhaps accept it; how many ranges there were."""
    import json
    import time

    from barnabas.log.offline.accepted_loss import accept_loss, lost_ranges

    count = 0
    for name in wanted or sorted(filter(_is_partition, disk.list_directories(root))):
        directory = f"{root}/{name}"
        if accept:
            found = accept_loss(disk, directory, time.time_ns() // 1_000_000)
        else:
            found = lost_ranges(disk, directory)
        for lost in found:
            count += 1
            if as_json:
                shown = {"partition": name, "lost_from": lost.start, "lost_to": lost.end - 1}
                print_line(json.dumps({**shown, "reason": lost.reason, "accepted": accept}))
            else:
                print_line(f"{name}: {'accepted the loss of' if accept else 'has lost'} {lost}")
    return count


def _loss_summary(losses: int, accept: bool, execute: bool) -> int:
    if not losses or (accept and execute):
        return exit_codes.OK
    say(
        "records are lost, and consumers get CORRUPT_MESSAGE there; for partitions with a single "
        "replica, --accept-loss --execute lets consumers skip them"
    )
    return exit_codes.FAILURE


def _is_partition(name: str) -> bool:
    topic, _, number = name.rpartition("-")
    return bool(topic) and number.isascii() and number.isdecimal()


def _print_batch(batch: "GarbageBatch", *, as_json: bool) -> None:
    import json

    header = batch.header
    if as_json:
        shown = {
            "segment": batch.segment,
            "position": batch.position,
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "problem": batch.reason,
            "copied_to": batch.copied_to,
        }
        print_line(json.dumps(shown))
        return
    line = (
        f"{batch.segment} position {batch.position} offsets {header.base_offset}-"
        f"{header.last_offset}: {batch.reason}"
    )
    if batch.copied_to is not None:
        line += f"; replaced by an empty batch, the original is {batch.copied_to}"
    print_line(line)


def _print_damage(damage: "DamagedBytes", *, as_json: bool) -> None:
    import json

    if as_json:
        print_line(
            json.dumps(
                {"segment": damage.segment, "position": damage.position, "damage": damage.reason}
            )
        )
    else:
        print_line(
            f"{damage.segment} position {damage.position}: {damage.reason}; not changed, the "
            "server handles damaged files when it starts"
        )


def _summary(batches: int, damages: int, *, execute: bool) -> int:
    noun = "batch" if batches == 1 else "batches"
    if batches and not execute:
        say(
            f"{batches} unreadable {noun}; nothing was changed; add --execute to replace "
            f"{'it' if batches == 1 else 'them'}"
        )
    elif batches:
        say(f"replaced {batches} {noun}")
    elif not damages:
        say("all batches are readable")
    return exit_codes.FAILURE if damages or (batches and not execute) else exit_codes.OK
