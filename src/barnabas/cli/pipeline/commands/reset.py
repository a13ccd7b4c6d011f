"""`barnabas pipeline reset`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import command
from barnabas.cli.base.output import say
from barnabas.cli.pipeline.arguments import (
    Checkpoints,
    Definitions,
    Names,
    Version,
    chosen_of,
)

EPILOG = "Example: barnabas pipeline reset pipelines/ views_per_minute"


@command()
def reset(
    path: Definitions,
    names: Names = None,
    checkpoints: Checkpoints = None,
    version: Version = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Delete the Parquet tables that they wrote too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete checkpoints, so that pipelines start from the beginning.

    Their state is deleted too. Records that they wrote to topics stay, and are written again.
    """
    from barnabas.spark.pipelines.operations.reset import reset_pipelines, what_is_there
    from barnabas.spark.pipelines.run.run_folder import RunFolder

    folder = RunFolder.of(path, checkpoints)
    chosen = chosen_of(path, names, version)
    there = what_is_there(folder, chosen, tables=tables)
    if not there:
        say("nothing to reset")
        return
    if not yes:
        say("\n".join(["This deletes:", *(f"  {each}" for each in there)]))
        typer.confirm("Continue?", abort=True, err=True)
    reset_pipelines(folder, chosen, tables=tables)
    say(f"reset {', '.join(each.name for each in chosen)}")
