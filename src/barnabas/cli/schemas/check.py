"""`barnabas schemas check`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, say
from barnabas.cli.schemas.file_options import SchemaTypeOption, files_at, kind_of, level_of

if TYPE_CHECKING:
    from barnabas.cli.schemas.schema_files import SchemaFiles
    from barnabas.schemas.compatibility import Compatibility
    from barnabas.schemas.incompatibility import Incompatibility

EPILOG = """\b
Examples:
  barnabas schemas check old/order.avsc order.avsc
  barnabas schemas check schemas --against main --compatibility FULL
  barnabas schemas check released schemas
  barnabas schemas check schemas
"""


class _Checked(NamedTuple):
    path: str
    result: str
    """`compatible`, `incompatible`, `added`, `removed`, `valid` or `invalid`."""
    findings: "list[Incompatibility]"
    error: str | None = None


@command("as_json")
def check(
    common: CommonOptions,
    old: Annotated[
        Path,
        typer.Argument(
            metavar="OLD", help="File or folder of the old schemas.", show_default=False
        ),
    ],
    new: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NEW]", help="File or folder of the new schemas.", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="REVISION",
            help="Compare the folder with this git revision of it, in place of NEW.",
            show_default=False,
        ),
    ] = None,
    compatibility: Annotated[
        str,
        typer.Option("--compatibility", metavar="LEVEL", help="BACKWARD, FORWARD, FULL, or NONE."),
    ] = "BACKWARD",
    schema_type: SchemaTypeOption = None,
) -> int:
    """Check that new schemas are valid and compatible with old ones.

    With one folder and no --against, schemas are only checked to be valid. Files of two folders
    are compared by their paths; files may use each other's types. The exit code is 1 if a schema is
    invalid or incompatible. Nothing is registered, and no registry is needed.
    """
    level, kind = level_of(compatibility), kind_of(schema_type)
    if against is not None:
        if new is not None or not old.is_dir():
            raise UsageError(
                "--against goes with one folder: barnabas schemas check DIR --against main"
            )
        from barnabas.cli.schemas.schema_files import SchemaFiles

        now, before = files_at(old, kind), SchemaFiles.of_revision(old, against, kind)
        found = _compared(before, now, level)
    elif new is None:
        files = files_at(old, kind)
        found = [_valid(files, path) for path in files.paths()]
    elif old.is_dir() != new.is_dir():
        raise UsageError(f"{old} and {new}: give two files or two folders")
    elif old.is_dir():
        found = _compared(files_at(old, kind), files_at(new, kind), level)
    else:
        found = [_pair(files_at(old, kind), old.name, files_at(new, kind), new.name, level)]
    _print(found, level, as_json=common.as_json)
    bad = sum(each.result in {"incompatible", "invalid"} for each in found)
    if bad and not common.as_json:
        say(f"{bad} of {len(found)} {'schema' if len(found) == 1 else 'schemas'} failed the check")
    return exit_codes.FAILURE if bad else exit_codes.OK


def _compared(before: "SchemaFiles", now: "SchemaFiles", level: "Compatibility") -> list[_Checked]:
    old, new = set(before.paths()), set(now.paths())
    found = []
    for path in sorted(old | new):
        if path not in new:
            found.append(_Checked(path, "removed", []))
        elif path not in old:
            checked = _valid(now, path)
            found.append(checked._replace(result="added") if checked.error is None else checked)
        else:
            found.append(_pair(before, path, now, path, level))
    return found


def _valid(files: "SchemaFiles", path: str) -> _Checked:
    from barnabas.schemas.schema import InvalidSchemaError

    try:
        files.parsed(path)
    except InvalidSchemaError as error:
        return _Checked(path, "invalid", [], str(error))
    return _Checked(path, "valid", [])


def _pair(
    before: "SchemaFiles", old: str, now: "SchemaFiles", new: str, level: "Compatibility"
) -> _Checked:
    from barnabas.schemas.compatibility import check as check_versions
    from barnabas.schemas.schema import InvalidSchemaError

    checked = _valid(now, new)
    if checked.error is not None:
        return checked
    try:
        earlier = before.parsed(old)
    except InvalidSchemaError as error:
        return _Checked(new, "invalid", [], f"the old schema: {error}")
    found = check_versions(now.parsed(new), [(None, earlier)], level)
    return _Checked(new, "incompatible" if found else "compatible", found)


def _print(found: list[_Checked], level: "Compatibility", *, as_json: bool) -> None:
    if as_json:
        schemas = [
            {
                "path": each.path,
                "result": each.result,
                "error": each.error,
                "findings": [asdict(one) for one in each.findings],
            }
            for each in found
        ]
        print_json({"compatibility": level.value, "schemas": schemas})
        return
    for each in found:
        result = f"not {level.value} compatible" if each.findings else each.result
        print_line(f"{each.path}: {result}")
        if each.error is not None:
            print_line(f"  {each.error}")
        for one in each.findings:
            print_line(f"  {one}")
            print_line(f"    {one.kind} at {one.path}")
