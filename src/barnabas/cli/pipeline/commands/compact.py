"""`barnabas pipeline compact`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.pipeline.arguments import Definitions, Names, Version, chosen_of

EPILOG = """\b
Examples:
  barnabas pipeline compact pipelines/
  barnabas pipeline compact events.py --min-files 10
"""


@command("as_json")
def compact(
    common: CommonOptions,
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
) -> None:
    """Merge the small files of Parquet tables into large ones.

    Pipelines may run and tables may be read at the same time: readers see every row once. A reader
    that listed a file just before it was replaced gets an error, and has to read again.
    """
    from barnabas.cli.pipeline.compact import compact_tables
    from barnabas.cli.pipeline.spark import SparkOptions, start_spark

    spark = SparkOptions(path, "compact", verbose=common.verbose)
    compact_tables(
        chosen_of(path, names, version, lambda: start_spark(spark)),
        spark,
        min_files=min_files,
        target_bytes=target_mb * 1024 * 1024,
        as_json=common.as_json,
    )
