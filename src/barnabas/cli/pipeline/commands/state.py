"""`barnabas pipeline state`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.pipeline.arguments import Checkpoints, Definitions, Version

EPILOG = """\b
Examples:
  barnabas pipeline state wordcount.sql wordcount
  barnabas pipeline state wordcount.sql wordcount --where "word = 'kafka'"
  barnabas pipeline state clicks.py clicks_on_pages left --json
"""


@command("as_json")
def state(
    common: CommonOptions,
    path: Definitions,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Pipeline.")],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="STATE",
            help="Table of the state, if there are several: a side of a join, a variable, timers.",
            show_default=False,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", help="Show only rows that match this condition.", show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most N rows.")] = 20,
    checkpoints: Checkpoints = None,
    version: Version = None,
) -> None:
    """Show the state of a pipeline after its last finished batch.

    The pipeline may be running. Its checkpoint is read without Spark where possible; conditions
    beyond comparisons with AND, and variables of transformWithState, start one.
    """
    from barnabas.cli.pipeline.state import StateOptions, print_state

    print_state(
        StateOptions(
            path=path,
            name=name if version is None else f"{name}-{version}",
            table=table,
            where=where,
            limit=limit,
            checkpoints=checkpoints,
            as_json=common.as_json,
            verbose=common.verbose,
        )
    )
