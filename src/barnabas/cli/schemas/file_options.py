"""What the commands on schema files take."""

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.schemas.schema_files import SchemaFiles
from barnabas.schemas.compatibility import Compatibility
from barnabas.schemas.schema import SchemaKind

_KINDS = {"avro": SchemaKind.AVRO, "json": SchemaKind.JSON, "protobuf": SchemaKind.PROTOBUF}

SchemaTypeOption = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="avro, json or protobuf. Default: by the name: .avsc, .json, .proto.",
        show_default=False,
    ),
]


def kind_of(text: str | None) -> SchemaKind | None:
    if text is None:
        return None
    if text.lower() not in _KINDS:
        raise UsageError(f"--type {text}: use {', '.join(_KINDS)}")
    return _KINDS[text.lower()]


def level_of(text: str) -> Compatibility:
    try:
        return Compatibility(text.upper())
    except ValueError:
        known = ", ".join(each.value for each in Compatibility)
        raise UsageError(f"--compatibility {text}: use one of {known}") from None


def files_at(path: Path, kind: SchemaKind | None) -> SchemaFiles:
    """A folder of schemas, or one file."""
    if not path.exists():
        raise CommandError(f"{path} does not exist")
    files = SchemaFiles.of_path(path, kind)
    if not files.paths():
        raise CommandError(f"{path} has no schema: files end with .avsc, .json or .proto")
    return files
