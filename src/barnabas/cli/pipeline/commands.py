"""`barnabas pipeline`: run pipelines on Spark, test them, and see how they are doing."""

from typing import Annotated

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
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.pipeline.arguments import (
    Checkpoints,
    Definitions,
    Names,
    Version,
    bootstrap_of,
    chosen_of,
    with_spark,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Run pipelines on Spark, test and watch them.",
)


@app.command(
    "run",
    epilog="""\b
Examples:
  barnabas pipeline run pipelines/
  barnabas pipeline run views.sql --once
  barnabas pipeline run pipelines/ views_per_minute --master spark://host:7077
  barnabas pipeline run pipelines/ views_per_minute --version v2
""",
)
def run(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    once: Annotated[
        bool,
        typer.Option("--once", "--available-now", help="Process what there is by now, and end."),
    ] = False,
    master: Annotated[
        str, typer.Option(metavar="URL", help="The Spark to run on; this machine by default.")
    ] = "local[*]",
    checkpoints: Checkpoints = None,
    version: Version = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How often in a row one that fails is started again. Default: for ever; 3 times "
            "with --once.",
            show_default=False,
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", "-c", metavar="NAME=VALUE", help="A setting of Spark."),
    ] = None,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Run pipelines, and show how they are doing.

    Until Ctrl-C or SIGTERM. One that fails is started again after a while, from where it was.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline.run import RunOptions, run_pipelines
        from barnabas.cli.pipeline.spark import SparkOptions, check_writable, start_spark
        from barnabas.spark.pipelines.definition.problems import check_definitions
        from barnabas.spark.pipelines.operations.versions import as_version, make_topics

        spark = SparkOptions(
            path,
            "spark" if version is None else f"spark.{version}",
            checkpoints=checkpoints,
            master=master,
            conf=parse_pairs(conf or [], "--conf"),
            verbose=verbose or before.verbose,
        )
        options = RunOptions(
            spark=spark,
            bootstrap=bootstrap_of(bootstrap or before.bootstrap),
            once=once,
            max_restarts=3 if restarts is None and once else restarts,
            as_json=as_json or before.as_json,
        )
        chosen = chosen_of(path, names, start_spark=lambda: start_spark(spark))
        check_definitions(chosen)
        check_writable(spark)
        if version is not None:
            first, chosen = chosen, as_version(chosen, version)
            for topic in make_topics(first, version, options.bootstrap):
                say(f"created topic {topic}")
        return run_pipelines(chosen, options)

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
    """Show what is defined: names, sources, sinks."""
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
    """Show which pipelines run, and how far they are.

    That is, on this machine; those that have ended are shown too. The exit code is 1 if one has
    failed.
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
            say(f"no pipeline has run{of_version}: nothing is in {folder.folder}")
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
        bool, typer.Option("--tables", help="Delete the Parquet tables too that they have written.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    verbose: Verbose = False,
) -> None:
    """Make pipelines forget how far they are, and begin anew.

    Their checkpoints are deleted, and with them all state. What they have written to topics stays,
    and will be written once more.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.spark.pipelines.operations.reset import reset_pipelines, what_is_there
        from barnabas.spark.pipelines.run.run_folder import RunFolder

        folder = RunFolder.of(path, checkpoints)
        chosen = chosen_of(path, names, version)
        there = what_is_there(folder, chosen, tables=tables)
        if not there:
            say("there is nothing to reset")
            return
        if not yes:
            say("\n".join(["This deletes:", *(f"  {each}" for each in there)]))
            typer.confirm("Go on?", abort=True, err=True)
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The pipeline.")],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="STATE",
            help="Which of its states, where it has several: a side of a join, a variable, timers.",
            show_default=False,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="Only rows for which this is true.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many rows.")] = 20,
    checkpoints: Checkpoints = None,
    version: Version = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Look into what a pipeline remembers.

    It is the state that its last finished batch has left. It may be running, and is not disturbed:
    a Spark of its own reads the checkpoint.
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

    For when the pipeline, or what is wrong with the records' schema, is mended. The letters stay in
    their topic, and the group NAME.replay has how many of them were sent.
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
            say("there are no dead letters that were not sent back already")

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
        typer.Option(
            metavar="N", min=2, help="Leave partitions alone that have fewer small files than this."
        ),
    ] = 2,
    target_mb: Annotated[
        int, typer.Option(metavar="MB", min=1, help="Files of this size are no longer small.")
    ] = 128,
    version: Version = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Make large files of the small ones in Parquet tables.

    Pipelines may run meanwhile, and their tables be read: every row is seen once at any time. A
    reader that has just listed files which are replaced then gets an error, and reads again.
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
        typer.Option(
            "-k", metavar="EXPRESSION", help="Only tests whose names match, as in pytest."
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Run the tests of pipelines, with pytest.

    For a folder, all that are in it. For a file, those in the file itself and in test_NAME.py or
    NAME_test.py beside it.
    """
    before = common_options(ctx)
    wordy = verbose or before.verbose

    def call() -> int:
        from barnabas.cli.pipeline.test import run_with_pytest

        return run_with_pytest(path, keyword, verbose=wordy)

    exit_with(with_spark(call), verbose=wordy)
