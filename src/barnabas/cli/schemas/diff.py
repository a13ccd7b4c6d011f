"""`barnabas schemas diff`."""

import json
from dataclasses import asdict
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line
from barnabas.cli.schemas.file_options import SchemaTypeOption, files_at, kind_of

if TYPE_CHECKING:
    from barnabas.schemas.parsing import ParsedSchema
    from barnabas.schemas.schema import SchemaKind

EPILOG = "Example: barnabas schemas diff old/order.avsc order.avsc"


@command("as_json")
def diff(
    common: CommonOptions,
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="File of the old schema.", show_default=False)
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="File of the new schema.", show_default=False)
    ],
    schema_type: SchemaTypeOption = None,
) -> None:
    """Show how two schemas differ, and what the change breaks.

    Schemas are compared in the layout that a registry gives them, so that spaces, comments and the
    order of attributes make no difference. The exit code is 0; schemas check is for CI.
    """
    from barnabas.schemas.compatibility import findings

    kind = kind_of(schema_type)
    before, now = _parsed(old, kind), _parsed(new, kind)
    lines = list(unified_diff(_lines(before), _lines(now), f"{old}", f"{new}", lineterm="", n=3))
    backward, forward = findings(now, before), findings(before, now)
    if common.as_json:
        print_json(
            {
                "diff": lines,
                "backward": [asdict(each) for each in backward],
                "forward": [asdict(each) for each in forward],
            }
        )
        return
    for line in lines or ["The schemas are the same."]:
        print_line(line)
    if lines:
        print_line()
        for what, found in (
            ("The new schema reads what was written with the old one", backward),
            ("The old schema reads what is written with the new one", forward),
        ):
            print_line(f"{what}: {'no' if found else 'yes'}")
            for each in found:
                print_line(f"  {each}")


def _parsed(path: Path, kind: "SchemaKind | None") -> "ParsedSchema":
    from barnabas.schemas.schema import InvalidSchemaError

    if path.is_dir():
        raise UsageError(f"{path} is a folder: schemas diff takes two files")
    try:
        return files_at(path, kind).parsed(path.name)
    except InvalidSchemaError as error:
        raise CommandError(f"{path}: {error}") from None


def _lines(schema: "ParsedSchema") -> list[str]:
    text = schema.canonical()
    if schema.schema.kind.value != "PROTOBUF":
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text.splitlines()
