"""Arguments that commands of this family share."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from barnabas.backup.manifest import Point

Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE", help="Folder, or s3://bucket/folder, of the backup.", show_default=False
    ),
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="REGEX", help="Only topics of these names; may be repeated."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="REGEX", help="Only groups of these names; may be repeated."),
]
Rate = Annotated[
    int | None,
    typer.Option("--rate", metavar="BYTES", min=1, help="Bytes per second to copy at most."),
]


def check_patterns(*patterns: "Collection[str] | None") -> None:
    """Raise `UsageError` for what is no regular expression."""
    import re

    for each in (one for some in patterns for one in some or ()):
        try:
            re.compile(each)
        except re.error as error:
            raise UsageError(f"{each!r} is not a regular expression: {error}") from error


def chosen(points: "list[Point]", number: int | None) -> "list[Point]":
    """The points up to the one with this number, as `show` counts them; None: all."""
    if number is None:
        return points
    if not 1 <= number <= len(points):
        raise UsageError(f"--point {number}: there are {len(points)}; see `barnabas backup show`")
    return points[:number]
