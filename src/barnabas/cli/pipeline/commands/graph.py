"""`barnabas pipeline graph`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.pipeline.arguments import (
    Definitions,
    GraphFormat,
    Names,
    Version,
    chosen_of,
)

EPILOG = """\b
Examples:
  barnabas pipeline graph pipelines/
  barnabas pipeline graph pipelines/ --format svg > pipelines.svg
"""


@command("as_json")
def graph(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    form: Annotated[
        GraphFormat, typer.Option("--format", help="A table, a picture, or for programs.")
    ] = GraphFormat.TEXT,
) -> None:
    """Show which topics, tables and files connect pipelines.

    Neither Spark nor a broker is needed. Cycles are named.
    """
    from barnabas.cli.pipeline.graph import print_graph

    print_graph(chosen_of(path, names, version), GraphFormat.JSON if common.as_json else form)
