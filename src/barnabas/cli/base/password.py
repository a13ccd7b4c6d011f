"""Where a command takes a password from: a prompt, a file or standard input.

An argument can be seen in `ps` by everyone on the machine, so it is the last resort.
"""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import UsageError

_STANDARD_INPUT = "-"

PasswordFile = Annotated[
    str | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="File with the password in its first line; - is standard input. Default: ask for it.",
        show_default=False,
    ),
]
PasswordText = Annotated[
    str | None,
    typer.Option(
        "--password",
        metavar="TEXT",
        help="The password itself. Others on this machine can see it in `ps`.",
        show_default=False,
    ),
]


def read_password(file: str | None, text: str | None) -> str:
    """Raises `UsageError`, or `OSError` if the file can't be read."""
    if file is not None and text is not None:
        raise UsageError("give --password-file or --password, not both")
    if text is not None:
        password = text
    elif file == _STANDARD_INPUT or (file is None and not sys.stdin.isatty()):
        password = _first_line(sys.stdin.readline())
    elif file is not None:
        with Path(file).open(encoding="utf-8") as opened:
            password = _first_line(opened.readline())
    else:
        password = getpass.getpass("Password: ")
        if password != getpass.getpass("Repeat it: "):
            raise UsageError("the two passwords differ")
    if not password:
        raise UsageError("the password is empty")
    return password


def _first_line(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
