"""`barnabas schemas export` and `import`: from one registry to another."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import CommandError, command
from barnabas.cli.base.output import print_line, say
from barnabas.cli.base.registry_option import DEFAULT_URL, RegistryUrl
from barnabas.cli.schemas.options import registry_client

EPILOG = """\b
Examples:
  barnabas schemas export --registry http://old:8081 > schemas.jsonl
  barnabas schemas import schemas.jsonl --registry http://new:8081
"""
_STANDARD_INPUT = "-"


@command()
def export(
    prefix: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="Beginning of the subjects to export.")
    ] = ":*:",
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Export soft-deleted versions as well.")
    ] = False,
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """Print all versions, settings and the largest ids, one JSON object per line."""
    from barnabas.registry.transfer import exported

    count = 0
    client = registry_client(registry)
    for line in exported(client, _warn, prefix, deleted=deleted):
        print_line(json.dumps(line, ensure_ascii=False))
        count += 1
    say(f"exported {count} lines")


@command()
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What export has printed; - for standard input.")
    ],
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """Register all versions of a file, with their ids and numbers.

    Subjects are in IMPORT mode meanwhile. Versions that are there already are left alone, so a file
    can be imported again.
    """
    from barnabas.errors import BarnabasError
    from barnabas.registry.transfer import Importer

    importer = Importer(registry_client(registry))
    with ExitStack() as stack:
        lines = sys.stdin
        if str(file) != _STANDARD_INPUT:
            lines = stack.enter_context(file.open())
        stack.callback(importer.close)
        for number, line in enumerate(lines, 1):
            try:
                importer.add(json.loads(line))
            except (ValueError, BarnabasError) as error:
                raise CommandError(f"line {number} of {file}: {error}") from error
    if not importer.has_ids:
        _warn("this registry does not take the largest ids, and may give ids again that were used")
    say(f"imported {importer.versions} versions and {importer.settings} settings")


def _warn(problem: str) -> None:
    say(f"warning: {problem}")
