"""`barnabas backup show`, `verify` and `prune`: no cluster is needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.backup.arguments import Place, chosen
from barnabas.cli.backup.key_file import CheckWith, read_key
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.quantities import counted, human_size

if TYPE_CHECKING:
    from barnabas.backup.manifest import Point

Number = Annotated[
    int | None,
    typer.Option("--point", metavar="N", help="Number of a point, as `show` counts them."),
]


@command("as_json")
def show(common: CommonOptions, place: Place, point: Number = None) -> int:
    """Show the points of a backup, or what one of them has."""
    return _show(place, point, as_json=common.as_json)


def _show(place: str, number: int | None, *, as_json: bool) -> int:
    from barnabas.backup.points import read_points
    from barnabas.backup.store import open_store

    points = chosen(read_points(open_store(place)), number)
    if number is None:
        _show_points(points, as_json=as_json)
    else:
        _show_point(points[-1], as_json=as_json)
    return exit_codes.OK


def _show_points(points: "list[Point]", *, as_json: bool) -> None:
    from barnabas.cli.base.times import format_time

    if as_json:
        print_json(
            [
                {
                    "point": number,
                    "created_at_ms": each.created_at_ms,
                    "topics": len(each.topics),
                    "groups": len(each.groups),
                    "records": each.records,
                    "bytes": each.bytes,
                    "copied_bytes": each.copied_bytes,
                    "problems": each.problems,
                    "signed": each.signature is not None,
                }
                for number, each in enumerate(points, 1)
            ]
        )
        return
    rows = [
        (
            number,
            format_time(each.created_at_ms),
            len(each.topics),
            len(each.groups),
            each.records,
            human_size(each.bytes),
            human_size(each.copied_bytes),
            len(each.problems),
            "no" if each.signature is None else "yes",
        )
        for number, each in enumerate(points, 1)
    ]
    print_table(
        (
            "point",
            "created",
            "topics",
            "groups",
            "records",
            "size",
            "copied",
            "problems",
            "signed",
        ),
        rows,
    )


def _show_point(point: "Point", *, as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        print_json(asdict(point))
        return
    print_table(
        ("topic", "partitions", "records", "size"),
        [
            (
                name,
                len(each.partitions),
                sum(one.records for one in each.partitions),
                human_size(sum(one.bytes for one in each.partitions)),
            )
            for name, each in sorted(point.topics.items())
        ],
    )
    if point.groups:
        print_line()
        print_table(
            ("group", "type", "partitions"),
            [
                (name, each.type, sum(map(len, each.offsets.values())))
                for name, each in sorted(point.groups.items())
            ],
        )
    print_line()
    print_line(
        f"{counted(len(point.users), 'user')} (without passwords), "
        f"{counted(len(point.acls), 'ACL')}, {counted(len(point.quotas), 'quota')}"
    )
    for problem in point.problems:
        say(f"warning: {problem}")


@command("as_json")
def verify(
    common: CommonOptions,
    place: Place,
    point: Number = None,
    key_file: CheckWith = None,
) -> int:
    """Read all files of a backup and compare their checksums.

    Each damaged file is named, with the offsets that are affected. The exit code is 1 if there is
    any. With --key-file, this includes points that are not signed with this key.
    """
    return _verify(place, point, key_file, as_json=common.as_json)


def _verify(place: str, number: int | None, key_file: Path | None, *, as_json: bool) -> int:
    from barnabas.backup.points import NoBackupError, point_names
    from barnabas.backup.store import open_store
    from barnabas.backup.verify import verify
    from barnabas.cli.base.command import UsageError
    from barnabas.cli.base.progress import ProgressLine

    key = read_key(key_file, place)
    store = open_store(place)
    names = point_names(store)
    if not names:
        raise NoBackupError(f"there is no backup in {store.description}")
    if number is not None:
        if not 1 <= number <= len(names):
            raise UsageError(f"--point {number}: there are {len(names)}")
        names = [names[number - 1]]
    line = ProgressLine()
    found = verify(
        store,
        names,
        lambda done, total: line.show(f"read {human_size(done)} of {human_size(total)}"),
        key,
    )
    line.end()
    if as_json:
        damages = [each._asdict() for each in found.damages]
        print_json({**found._asdict(), "damages": damages})
    else:
        for each in found.damages:
            print_line(str(each))
        say(
            f"read {counted(found.points, 'point')}, {counted(found.files, 'file')}, "
            f"{human_size(found.bytes)}: "
            + (f"{len(found.damages)} damaged" if found.damages else "all sound")
        )
        if key is None:
            say(_unchecked(found.signed, found.points))
        elif found.signed:
            say(f"{counted(found.signed, 'signature')} checked")
    return exit_codes.FAILURE if found.damages else exit_codes.OK


def _unchecked(signed: int, points: int) -> str:
    if signed:
        return f"{counted(signed, 'signature')} not checked; check with --key-file FILE"
    return f"{counted(points, 'point')} not signed: checksums find damage, not deliberate changes"


@command("as_json")
def prune(
    common: CommonOptions,
    place: Place,
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="Points to keep.")],
) -> int:
    """Delete all but the newest points, and files that no point needs.

    Let no `barnabas backup create` run meanwhile.
    """
    return _prune(place, keep, as_json=common.as_json)


def _prune(place: str, keep: int, *, as_json: bool) -> int:
    from barnabas.backup.prune import prune
    from barnabas.backup.store import open_store

    done = prune(open_store(place), keep)
    if as_json:
        print_json(done._asdict())
    else:
        say(
            f"deleted {counted(done.points, 'point')} and {counted(done.files, 'file')}, "
            f"{human_size(done.bytes)}"
        )
    return exit_codes.OK
