"""`barnabas pipeline graph`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.pipeline.arguments import (
    Definitions,
    GraphFormat,
    Names,
    Version,
    chosen_of,
    with_spark,
)

EPILOG = """\b
Examples:
  barnabas pipeline graph pipelines/
  barnabas pipeline graph pipelines/ --format svg > pipelines.svg
"""


def graph(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    form: Annotated[
        GraphFormat, typer.Option("--format", help="A table, a picture, or for programs.")
    ] = GraphFormat.TEXT,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show which topics, tables and files connect pipelines.

    Neither Spark nor a broker is needed. Cycles are named.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.cli.pipeline.graph import print_graph

        is_json = as_json or before.as_json
        print_graph(chosen_of(path, names, version), GraphFormat.JSON if is_json else form)

    exit_with(with_spark(call), verbose=verbose or before.verbose)
