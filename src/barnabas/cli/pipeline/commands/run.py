"""`barnabas pipeline run`: options and arguments."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CLUSTER, CommonOptions, Report, UsageError, command
from barnabas.cli.base.log_format import LogFormat
from barnabas.cli.base.output import say, say_json
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.pipeline.arguments import (
    Checkpoints,
    Definitions,
    Names,
    Version,
    cluster_of,
)

if TYPE_CHECKING:
    from barnabas.spark.pipelines import PipelineRun

EPILOG = """\b
Examples:
  barnabas pipeline run pipelines/
  barnabas pipeline run views.sql --once
  barnabas pipeline run pipelines/ views_per_minute --master spark://host:7077
  barnabas pipeline run pipelines/ views_per_minute --version v2
  barnabas pipeline run pipelines/ --metrics-port 9464 --log-format json
  barnabas pipeline run pipelines/ --watch
"""


@command(*CLUSTER, "as_json")
def run(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    once: Annotated[
        bool,
        typer.Option(
            "--once", "--available-now", help="Process the records there are now, then exit."
        ),
    ] = False,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Spark master; this machine by default.")
    ] = "local[*]",
    checkpoints: Checkpoints = None,
    version: Version = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Restart a failing pipeline at most N times in a row. Default: no limit; 3 with "
            "--once.",
            show_default=False,
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", "-c", metavar="NAME=VALUE", help="Spark setting; may be repeated."),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve metrics for Prometheus on this port, such as 9464, at /metrics.",
            show_default=False,
        ),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to serve metrics on.")
    ] = "127.0.0.1",
    report: Report = True,
    control: Annotated[
        bool,
        typer.Option(
            "--control/--no-control",
            help="Let console users stop and restart pipelines.",
        ),
    ] = True,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Restart what is edited, start new files, stop deleted ones."),
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines about progress and failures: text, or JSON objects.")
    ] = LogFormat.TEXT,
) -> int:
    """Run pipelines until Ctrl-C or SIGTERM, and show their progress.

    A pipeline that fails is restarted after a while, and continues from its checkpoint. A wrong
    file in a folder stops only itself, and makes the exit code 1. With --once, and for pipelines
    asked for by name, an error in one starts none.
    """
    from barnabas.cli.base.spark_master import check_master
    from barnabas.cli.pipeline.run import RunOptions, run_pipelines
    from barnabas.cli.pipeline.selection import definitions_to_run, say_what_is_left_out
    from barnabas.cli.pipeline.spark import (
        SparkOptions,
        check_writable,
        start_spark,
    )
    from barnabas.cli.pipeline.watch import DefinitionFollower
    from barnabas.spark.pipelines.operations.versions import as_version, make_topics

    given = parse_pairs(conf or [], "--conf")
    check_master(master, given)
    spark = SparkOptions(
        path,
        "spark" if version is None else f"spark.{version}",
        checkpoints=checkpoints,
        master=master,
        conf=given,
        verbose=common.verbose,
    )
    if watch and once:
        raise UsageError("--watch and --once exclude each other")
    if watch and path.suffix == ".json":
        raise UsageError("--watch follows .py and .sql files, not the JSON of a connector")

    def follow(run: "PipelineRun") -> DefinitionFollower:
        return DefinitionFollower(
            path,
            run,
            lambda: start_spark(spark),
            names=names or (),
            as_run=lambda all_of: all_of if version is None else as_version(all_of, version),
        )

    options = RunOptions(
        spark=spark,
        cluster=cluster_of(common),
        once=once,
        max_restarts=3 if restarts is None and once else restarts,
        as_json=common.as_json,
        json_log=log_format is LogFormat.JSON,
        reports=report,
        control=control and not once,
        metrics=None if metrics_port is None else (metrics_host, metrics_port),
        keep_going=path.is_dir() and not names and not once,
        follow=None if path.suffix == ".json" or once else follow,
        watch=watch,
    )
    if options.json_log:
        say_json()
    found = definitions_to_run(path, names, lambda: start_spark(spark), strict=once)
    chosen = list(found.pipelines.values())
    check_writable(spark)
    if version is not None:
        first, chosen = chosen, as_version(chosen, version)
        cluster = options.cluster
        for topic in make_topics(
            first, version, cluster.bootstrap_servers, security=cluster.security
        ):
            say(f"created topic {topic}")
    say_what_is_left_out(found.bad)
    return run_pipelines(chosen, options, found.bad)
