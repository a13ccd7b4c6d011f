"""Compacts the Parquet tables of pipelines, with a Spark started for it."""

from pyspark.errors import PySparkException

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.pipeline.spark import SparkOptions, start_spark
from barnabas.spark.pipelines import Pipeline
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.parquet.compaction import compact_parquet


def compact_tables(
    pipelines: list[Pipeline],
    options: SparkOptions,
    *,
    min_files: int,
    target_bytes: int,
    as_json: bool,
) -> None:
    """Compact the tables, and print what changed."""
    folders = [each.sink.parquet_folder for each in pipelines]
    there = dict.fromkeys(each for each in folders if each is not None)
    if not there:
        raise CommandError("none of these pipelines has a Parquet table on this machine yet")
    spark = start_spark(options)
    done = []
    try:
        for folder in there:
            found = compact_parquet(spark, folder, at_least=min_files, target_bytes=target_bytes)
            done += [(str(folder), each) for each in found]
    except PySparkException as error:
        raise CommandError(f"{folder}: {reason_of(error)} (see {options.log})") from error
    finally:
        with options.errors_in_file():
            spark.stop()
    if as_json:
        print_json([{"table": table, **vars(each)} for table, each in done])
    elif done:
        rows = [(t, c.partition, c.files_before, c.files_after, c.rows) for t, c in done]
        print_table(("table", "partition", "files before", "after", "rows"), rows)
    else:
        say("nothing to compact")
