"""`barnabas schemas list`, `show`, `register`, `delete`: subjects of a registry."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.registry_option import DEFAULT_URL, RegistryUrl
from barnabas.cli.schemas.options import Subject, registry_client

if TYPE_CHECKING:
    from barnabas.registry.model.contents import Json

LIST_EPILOG = """\b
Examples:
  barnabas schemas list
  barnabas schemas list orders- --deleted
  barnabas schemas list --registry https://me:secret@registry.example.com
"""
SHOW_EPILOG = """\b
Examples:
  barnabas schemas show orders-value
  barnabas schemas show orders-value --version 3
  barnabas schemas show --id 17
"""
REGISTER_EPILOG = """\b
Examples:
  barnabas schemas register orders-value order.avsc
  barnabas schemas register orders-value order.avsc --reference com.acme.Item=items-value:2
"""
_KINDS = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_STANDARD_INPUT = "-"


@command("as_json")
def list_subjects(
    common: CommonOptions,
    prefix: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="Beginning of the subjects to list.")
    ] = ":*:",
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List soft-deleted versions as well.")
    ] = False,
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """List subjects with their versions, and the id and kind of the latest."""
    from barnabas.registry.model.contents import objects

    client = registry_client(registry)
    query = {"subjectPrefix": prefix, **({"deleted": "true"} if deleted else {})}
    every = objects(client.call("GET", "schemas", **query))
    if common.as_json:
        print_json([{name: each[name] for name in each if name != "schema"} for each in every])
        return
    rows: dict[str, list[str | int | None]] = {}
    for each in every:
        subject = str(each["subject"])
        count = rows[subject][1] if subject in rows else 0
        assert isinstance(count, int)
        kind = str(each.get("schemaType", "AVRO"))
        rows[subject] = [subject, count + 1, _int(each["version"]), _int(each["id"]), kind]
    print_table(["subject", "versions", "latest", "id", "type"], list(rows.values()))


@command("as_json")
def show(
    common: CommonOptions,
    subject: Annotated[
        str | None, typer.Argument(metavar="[SUBJECT]", help="Subject.", show_default=False)
    ] = None,
    version: Annotated[
        str, typer.Option("--version", metavar="N", help="Version of the subject, or latest.")
    ] = "latest",
    schema_id: Annotated[
        int | None, typer.Option("--id", metavar="N", help="Id, instead of a subject.", min=0)
    ] = None,
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """Print a schema; with --json everything that belongs to it."""
    from barnabas.registry.model.contents import mapping

    if (subject is None) == (schema_id is None):
        raise UsageError("give a SUBJECT or --id N")
    client = registry_client(registry)
    if subject is None:
        found = mapping(client.call("GET", "schemas", "ids", str(schema_id)))
    else:
        found = mapping(client.call("GET", "subjects", subject, "versions", version))
    if common.as_json:
        print_json(found)
        return
    text = str(found["schema"])
    with suppress(ValueError):  # Protobuf
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    print_line(text)


@command("as_json")
def register(
    common: CommonOptions,
    subject: Subject,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Schema: .avsc, .json or .proto; - for standard input."
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="AVRO, JSON or PROTOBUF. Default: by the name of the file, or AVRO.",
            show_default=False,
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SUBJECT:VERSION",
            help="Another schema that it uses by NAME; may be repeated.",
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Register the normalized schema.")
    ] = False,
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """Register a schema and print its id; the same id as before if it is there already."""
    from barnabas.registry.model.contents import mapping

    text = sys.stdin.read() if str(file) == _STANDARD_INPUT else file.read_text()
    wanted = kind or _KINDS.get(file.suffix, "AVRO")
    body: dict[str, Json] = {"schema": text, "schemaType": wanted.upper()}
    if reference:
        body["references"] = [_reference(each) for each in reference]
    query = {"normalize": "true"} if normalize else {}
    client = registry_client(registry)
    found = mapping(client.call("POST", "subjects", subject, "versions", body=body, **query))
    if common.as_json:
        print_json(found)
    else:
        print_line(str(found["id"]))


@command("as_json")
def delete(
    common: CommonOptions,
    subject: Subject,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="N", help="Only this version, or latest.", show_default=False
        ),
    ] = None,
    permanent: Annotated[
        bool,
        typer.Option("--permanent", help="Delete for good what was deleted before."),
    ] = False,
    registry: RegistryUrl = DEFAULT_URL,
) -> None:
    """Delete a subject, or one of its versions.

    Deleted schemas can still be read by their ids, until they are deleted with --permanent.
    """
    client = registry_client(registry)
    path = ["subjects", subject, *([] if version is None else ["versions", version])]
    found = client.call("DELETE", *path, **({"permanent": "true"} if permanent else {}))
    if common.as_json:
        print_json(found)
        return
    numbers = ", ".join(map(str, found if isinstance(found, list) else [found]))
    say(f"deleted {subject}, version {numbers}{' for good' if permanent else ''}")


def _reference(text: str) -> "dict[str, Json]":
    name, equals, place = text.partition("=")
    subject, colon, version = place.rpartition(":")
    if not (equals and colon and name and subject and version.isdecimal()):
        raise UsageError(f"--reference {text}: expected NAME=SUBJECT:VERSION")
    return {"name": name, "subject": subject, "version": int(version)}


def _int(value: "Json") -> int:
    assert isinstance(value, int)
    return value
