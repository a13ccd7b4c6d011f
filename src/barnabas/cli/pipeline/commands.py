"""`barnabas pipeline`: run pipelines on Spark, and test and inspect them."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import (
    AsJson,
    Bootstrap,
    UsageError,
    Verbose,
    common_options,
    exit_with,
)
from barnabas.cli.base.output import print_json, print_table, say, say_json
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.pipeline.arguments import (
    Checkpoints,
    Definitions,
    GraphFormat,
    LogFormat,
    Names,
    Version,
    bootstrap_of,
    chosen_of,
    with_spark,
)

if TYPE_CHECKING:
    from barnabas.spark.pipelines import PipelineRun

app = typer.Typer(
    no_args_is_help=True,
    help="Run pipelines on Spark, and test and inspect them.",
)


@app.command(
    "run",
    epilog="""\b
Examples:
  barnabas pipeline run pipelines/
  barnabas pipeline run views.sql --once
  barnabas pipeline run pipelines/ views_per_minute --master spark://host:7077
  barnabas pipeline run pipelines/ views_per_minute --version v2
  barnabas pipeline run pipelines/ --metrics-port 9464 --log-format json
  barnabas pipeline run pipelines/ --watch
""",
)
def run(
    ctx: typer.Context,
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
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Restart what is edited, start new files, stop deleted ones."),
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines about progress and failures: text, or JSON objects.")
    ] = LogFormat.TEXT,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Run pipelines until Ctrl-C or SIGTERM, and show their progress.

    A pipeline that fails is restarted after a while, and continues from its checkpoint. A wrong
    file in a folder stops only itself, and makes the exit code 1. With --once, and for pipelines
    asked for by name, an error in one starts none.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline.run import RunOptions, run_pipelines
        from barnabas.cli.pipeline.selection import definitions_to_run, say_what_is_left_out
        from barnabas.cli.pipeline.spark import (
            SparkOptions,
            check_master,
            check_writable,
            start_spark,
        )
        from barnabas.cli.pipeline.watch import DefinitionFollower
        from barnabas.spark.pipelines.operations.versions import as_version, make_topics

        check_master(master)
        spark = SparkOptions(
            path,
            "spark" if version is None else f"spark.{version}",
            checkpoints=checkpoints,
            master=master,
            conf=parse_pairs(conf or [], "--conf"),
            verbose=verbose or before.verbose,
        )
        if watch and once:
            raise UsageError("--watch and --once exclude each other")

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
            bootstrap=bootstrap_of(bootstrap or before.bootstrap),
            once=once,
            max_restarts=3 if restarts is None and once else restarts,
            as_json=as_json or before.as_json,
            json_log=log_format is LogFormat.JSON,
            metrics=None if metrics_port is None else (metrics_host, metrics_port),
            keep_going=path.is_dir() and not names and not once,
            follow=follow if watch else None,
        )
        if options.json_log:
            say_json()
        found = definitions_to_run(path, names, lambda: start_spark(spark), strict=once)
        chosen = list(found.pipelines.values())
        check_writable(spark)
        if version is not None:
            first, chosen = chosen, as_version(chosen, version)
            for topic in make_topics(first, version, options.bootstrap):
                say(f"created topic {topic}")
        say_what_is_left_out(found.bad)
        return run_pipelines(chosen, options, found.bad)

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command("list", epilog="Example: barnabas pipeline list pipelines/")
def list_pipelines(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """List pipelines with their sources and sinks."""
    before = common_options(ctx)

    def call() -> None:
        from barnabas.spark.pipelines.definition.problems import check_definitions

        found = chosen_of(path, names, version)
        check_definitions(found)
        rows = [
            {
                "pipeline": each.name,
                "sources": {name: source.describe() for name, source in each.sources.items()},
                "sink": each.sink.describe(),
                "output_mode": each.output_mode,
                "trigger": each.trigger,
                "file": str(each.defined_in),
            }
            for each in found
        ]
        if as_json or before.as_json:
            print_json(rows)
            return
        print_table(
            ("pipeline", "sources", "sink", "mode", "trigger", "file"),
            [
                (
                    each.name,
                    ", ".join(source.describe() for source in each.sources.values()) or None,
                    each.sink.describe(),
                    each.output_mode,
                    each.trigger,
                    each.defined_in.name if each.defined_in else None,
                )
                for each in found
            ],
        )

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command("check", epilog="Example: barnabas pipeline check pipelines/")
def check(
    ctx: typer.Context,
    path: Definitions,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Check definitions and report all errors.

    Neither Spark nor a broker is needed. The exit code is 1 if there are errors. Columns and types
    are checked when a pipeline is run.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline.arguments import start_quietly
        from barnabas.spark.pipelines.definition.definitions import load_each

        found = load_each(path, lambda: start_quietly(path))
        rows: list[tuple[str, str, str | None]] = [
            (each.name, str(each.defined_in), None) for each in found.pipelines.values()
        ]
        rows += [(each.name, str(each.file), each.reason) for each in found.bad]
        if as_json or before.as_json:
            names = ("pipeline", "file", "error")
            print_json([dict(zip(names, row, strict=True)) for row in rows])
        else:
            shown = [
                (name, "ok" if error is None else "error", error or None)
                for name, _file, error in rows
            ]
            print_table(("pipeline", "result", "error"), shown)
        return exit_codes.FAILURE if found.bad else exit_codes.OK

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command(
    "graph",
    epilog="""\b
Examples:
  barnabas pipeline graph pipelines/
  barnabas pipeline graph pipelines/ --format svg > pipelines.svg
""",
)
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


@app.command("status", epilog="Example: barnabas pipeline status pipelines/")
def status(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    checkpoints: Checkpoints = None,
    version: Version = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show the progress of pipelines on this machine.

    Pipelines that have ended are shown too. The exit code is 1 if one has failed.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline.status import chosen_statuses
        from barnabas.cli.pipeline.view import print_statuses
        from barnabas.spark.pipelines.run.run_folder import RunFolder, statuses

        if not path.exists():
            raise UsageError(f"{path} does not exist")
        folder = RunFolder.of(path, checkpoints)
        all_of_them = statuses(folder, path if path.is_file() else None)
        found = chosen_statuses(all_of_them, names, version)
        print_statuses(found, as_json=as_json or before.as_json)
        if not found:
            of_version = "" if version is None else f" as version {version}"
            say(f"no pipeline has run{of_version}: {folder.folder} is empty")
        bad = any(each["state"] in ("failed", "died") for each in found)
        return exit_codes.FAILURE if bad else exit_codes.OK

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command("reset", epilog="Example: barnabas pipeline reset pipelines/ views_per_minute")
def reset(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    checkpoints: Checkpoints = None,
    version: Version = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Delete the Parquet tables that they wrote too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    verbose: Verbose = False,
) -> None:
    """Delete checkpoints, so that pipelines start from the beginning.

    Their state is deleted too. Records that they wrote to topics stay, and are written again.
    """
    before = common_options(ctx)

    def call() -> None:
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

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command(
    "state",
    epilog="""\b
Examples:
  barnabas pipeline state wordcount.sql wordcount
  barnabas pipeline state wordcount.sql wordcount --where "word = 'kafka'"
  barnabas pipeline state clicks.py clicks_on_pages left --json
""",
)
def state(
    ctx: typer.Context,
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
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show the state of a pipeline after its last finished batch.

    The pipeline may be running. Its checkpoint is read without Spark where possible; conditions
    beyond comparisons with AND, and variables of transformWithState, start one.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.cli.pipeline.state import StateOptions, print_state

        print_state(
            StateOptions(
                path=path,
                name=name if version is None else f"{name}-{version}",
                table=table,
                where=where,
                limit=limit,
                checkpoints=checkpoints,
                as_json=as_json or before.as_json,
                verbose=verbose or before.verbose,
            )
        )

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command("replay", epilog="Example: barnabas pipeline replay views.py views_per_minute")
def replay(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Send dead letters back to their topics, each once.

    Do this after the pipeline or the schema is fixed. The dead letters stay in their topic; the
    group NAME.replay records which ones were sent.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.spark.pipelines.operations.replay import has_dead_letters, replay_dead_letters

        chosen = [
            each for each in chosen_of(path, names, version) if names or has_dead_letters(each)
        ]
        sent: list[tuple[str, str, str, int]] = []
        for each in chosen:
            found = replay_dead_letters(each, bootstrap_of(bootstrap or before.bootstrap))
            sent += [(each.name, *places, records) for places, records in sorted(found.items())]
        if as_json or before.as_json:
            names_of = ("pipeline", "dead_letters", "topic", "records")
            print_json([dict(zip(names_of, row, strict=True)) for row in sent])
        elif sent:
            print_table(("pipeline", "dead letters", "sent to", "records"), sent)
        else:
            say("no new dead letters to send back")

    exit_with(with_spark(call), verbose=verbose or before.verbose)


@app.command(
    "compact",
    epilog="""\b
Examples:
  barnabas pipeline compact pipelines/
  barnabas pipeline compact events.py --min-files 10
""",
)
def compact(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    min_files: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Skip partitions with fewer small files than this."),
    ] = 2,
    target_mb: Annotated[
        int, typer.Option(metavar="MB", min=1, help="Size from which a file is not small.")
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


@app.command("test", epilog="Example: barnabas pipeline test pipelines/ -k late")
def run_tests(
    ctx: typer.Context,
    path: Definitions,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPRESSION", help="Run only tests that match, as in pytest."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Run the tests of pipelines with pytest.

    For a folder, all tests in it. For a file, those in the file itself and in test_NAME.py or
    NAME_test.py next to it.
    """
    before = common_options(ctx)
    wordy = verbose or before.verbose

    def call() -> int:
        from barnabas.cli.pipeline.test import run_with_pytest

        return run_with_pytest(path, keyword, verbose=wordy)

    exit_with(with_spark(call), verbose=wordy)
