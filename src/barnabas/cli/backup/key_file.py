"""`barnabas backup keygen`, and the key with which other commands sign and check."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, UsageError, command
from barnabas.cli.base.output import say

if TYPE_CHECKING:
    from barnabas.backup.signature import SigningKey

_OTHERS = 0o077

SignWith = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="Sign with the key in this file."),
]
CheckWith = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="Check signatures with the key in this file."),
]


@command()
def keygen(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write.", show_default=False)
    ],
) -> None:
    """Make a key that signs backups.

    Only you can read the file. Keep a copy where you keep passwords, and none in the backup:
    whoever has it can sign.
    """

    from barnabas.backup.signature import create_key

    try:
        create_key(file)
    except FileExistsError as error:
        raise CommandError(
            f"{file} exists; without it, backups that it has signed can't be checked. Choose "
            "another name"
        ) from error
    say(f"wrote {file}; keep a copy of it, apart from the backup")


def read_key(file: Path | None, place: str) -> "SigningKey | None":
    """The key for a backup in `place`. Raises `UsageError`, `InvalidArgument`."""
    from barnabas.backup.signature import load_key

    if file is None:
        return None
    if file.resolve().is_relative_to(Path(place).resolve()):
        raise UsageError(
            f"{file} is in the backup, where whoever can change the backup may find it; move it"
        )
    key = load_key(file)
    if file.stat().st_mode & _OTHERS:
        say(f"warning: other users can read {file}; run chmod 600 {file}")
    return key
