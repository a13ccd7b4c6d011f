"""`barnabas pipeline compact`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.pipeline.arguments import Definitions, Names, Version, chosen_of, with_spark

EPILOG = """\b
Examples:
  barnabas pipeline compact pipelines/
  barnabas pipeline compact events.py --min-files 10
"""


def compact(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    min_files: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Skip partitions with fewer small files than this."),
    ] = 2,
    target_mb: Annotated[
        int,
        typer.Option(metavar="MB", min=1, help="Size from which a file no longer counts as small."),
    ] = 128,
    version: Version = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Merge the small files of Parquet tables into large ones.

    Pipelines may run and tables may be read at the same time: readers see every row once. A reader
    that listed a file just before it was replaced gets an error, and has to read again.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.cli.pipeline.compact import compact_tables
        from barnabas.cli.pipeline.spark import SparkOptions, start_spark

        spark = SparkOptions(path, "compact", verbose=verbose or before.verbose)
        compact_tables(
            chosen_of(path, names, version, lambda: start_spark(spark)),
            spark,
            min_files=min_files,
            target_bytes=target_mb * 1024 * 1024,
            as_json=as_json or before.as_json,
        )

    exit_with(with_spark(call), verbose=verbose or before.verbose)
