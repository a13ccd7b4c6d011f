"""`barnabas pipeline check`: options and arguments."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.base.output import print_json, print_table
from barnabas.cli.pipeline.arguments import Definitions, start_quietly

EPILOG = "Example: barnabas pipeline check pipelines/ --queries"

Queries = Annotated[
    bool,
    typer.Option(
        "--queries", help="Check the queries too: their columns and types, in a local Spark."
    ),
]


class Checked(NamedTuple):
    """What was found out about a pipeline."""

    pipeline: str
    file: str
    error: str | None = None
    query: str | None = None
    """`ok`, or why the query could not be checked; None if that was not asked for."""


@command("as_json")
def check(common: CommonOptions, path: Definitions, queries: Queries = False) -> int:
    """Check definitions and report all errors.

    No broker, database or file that they name is needed. Spark, which takes seconds to start, is
    needed only for --queries. The exit code is 1 if there are errors.
    """
    found = _checked(path, queries=queries)
    if common.as_json:
        print_json([each._asdict() for each in found])
    else:
        print_table(("pipeline", "result", "error"), [_row(each) for each in found])
    return exit_codes.FAILURE if any(each.error for each in found) else exit_codes.OK


def _row(checked: Checked) -> tuple[str, str, str | None]:
    if checked.error is not None:
        return checked.pipeline, "error", checked.error
    if checked.query in {None, "ok"}:
        return checked.pipeline, "ok", None
    return checked.pipeline, "ok", f"query not checked: {checked.query}"


def _checked(path: Path, *, queries: bool) -> list[Checked]:
    from barnabas.spark.pipelines.definition.definitions import load_each

    found = load_each(path, lambda: start_quietly(path))
    good = [Checked(each.name, str(each.defined_in)) for each in found.pipelines.values()]
    if queries and good:
        from barnabas.spark.testing.query_check import query_error, unchecked_because

        start_quietly(path)
        for number, each in enumerate(found.pipelines.values()):
            why_not = unchecked_because(each)
            error = query_error(each) if why_not is None else None
            good[number] = good[number]._replace(error=error, query=why_not or "ok")
    return good + [Checked(each.name, str(each.file), each.reason) for each in found.bad]
