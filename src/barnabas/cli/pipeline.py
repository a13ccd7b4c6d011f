"""`barnabas pipeline`: run pipelines on Spark, test them, and see how they are doing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli import exit_codes
from barnabas.cli.command import (
    BOOTSTRAP_VARIABLE,
    DEFAULT_BOOTSTRAP,
    AsJson,
    Bootstrap,
    CommandError,
    UsageError,
    Verbose,
    common_options,
    exit_with,
)
from barnabas.cli.output import print_json, print_table, say
from barnabas.cli.settings import parse_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from barnabas.spark.pipelines import Pipeline

app = typer.Typer(
    no_args_is_help=True,
    help="Run pipelines on Spark, test them, and see how they are doing.",
)

Definitions = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A .py or .sql file that defines pipelines, or a folder of them."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Some of them; default: all.", show_default=False),
]
Checkpoints = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Where they keep how far they are; a URL for a file system of a Spark cluster. "
        "Default: .barnabas/pipelines beside the definitions.",
        show_default=False,
    ),
]


@app.command(
    "run",
    epilog="""\b
Examples:
  barnabas pipeline run pipelines/
  barnabas pipeline run views.sql --once
  barnabas pipeline run pipelines/ views_per_minute --master spark://host:7077
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
    """Run pipelines until Ctrl-C or SIGTERM, and show how they are doing.

    One that fails is started again after a while, from where it was.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline_run import RunOptions, run_pipelines, start_spark

        options = RunOptions(
            path=path,
            bootstrap=_bootstrap(bootstrap or before.bootstrap),
            master=master,
            checkpoints=checkpoints,
            once=once,
            max_restarts=3 if restarts is None and once else restarts,
            conf=parse_pairs(conf or [], "--conf"),
            as_json=as_json or before.as_json,
            verbose=verbose or before.verbose,
        )
        chosen = _chosen(path, names, lambda: start_spark(options))
        return run_pipelines(chosen, options)

    exit_with(_with_spark(call), verbose=verbose or before.verbose)


@app.command("list", epilog="Example: barnabas pipeline list pipelines/")
def list_pipelines(
    ctx: typer.Context, path: Definitions, as_json: AsJson = False, verbose: Verbose = False
) -> None:
    """Show what is defined: names, sources, sinks."""
    before = common_options(ctx)

    def call() -> None:
        found = _chosen(path, None)
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

    exit_with(_with_spark(call), verbose=verbose or before.verbose)


@app.command("status", epilog="Example: barnabas pipeline status pipelines/")
def status(
    ctx: typer.Context,
    path: Definitions,
    checkpoints: Checkpoints = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show which pipelines run on this machine, and how far they and those that ended are.

    The exit code is 1 if one has failed.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.cli.pipeline_view import print_statuses
        from barnabas.spark.pipelines.run_folder import RunFolder, statuses

        if not path.exists():
            raise UsageError(f"{path} does not exist")
        folder = RunFolder.of(path, checkpoints)
        found = statuses(folder, path if path.is_file() else None)
        print_statuses(found, as_json=as_json or before.as_json)
        if not found:
            say(f"no pipeline has run: nothing is in {folder.folder}")
        bad = any(each["state"] in ("failed", "died") for each in found)
        return exit_codes.FAILURE if bad else exit_codes.OK

    exit_with(_with_spark(call), verbose=verbose or before.verbose)


@app.command("reset", epilog="Example: barnabas pipeline reset pipelines/ views_per_minute")
def reset(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    checkpoints: Checkpoints = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Delete the Parquet tables too that they have written.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    verbose: Verbose = False,
) -> None:
    """Make pipelines forget how far they are: their next run begins anew.

    Their checkpoints are deleted, and with them all state. What they have written to topics stays,
    and will be written once more.
    """
    before = common_options(ctx)

    def call() -> None:
        from barnabas.spark.pipelines.resetting import reset_pipelines, what_is_there
        from barnabas.spark.pipelines.run_folder import RunFolder

        folder = RunFolder.of(path, checkpoints)
        chosen = _chosen(path, names)
        there = what_is_there(folder, chosen, tables=tables)
        if not there:
            say("there is nothing to reset")
            return
        if not yes:
            say("\n".join(["This deletes:", *(f"  {each}" for each in there)]))
            typer.confirm("Go on?", abort=True, err=True)
        reset_pipelines(folder, chosen, tables=tables)
        say(f"reset {', '.join(each.name for each in chosen)}")

    exit_with(_with_spark(call), verbose=verbose or before.verbose)


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
        from barnabas.cli.pipeline_test import run_with_pytest

        return run_with_pytest(path, keyword, verbose=wordy)

    exit_with(_with_spark(call), verbose=wordy)


def _with_spark(call: "Callable[[], int | None]") -> "Callable[[], int | None]":
    """Say what to install where Spark, or what belongs to it, is missing."""

    def run() -> int | None:
        try:
            import barnabas.spark  # noqa: F401 - all that follows needs it
        except ImportError as missing:
            raise CommandError(str(missing)) from missing
        from barnabas.spark.java import NoJava

        try:
            return call()
        except NoJava as missing:
            raise CommandError(str(missing)) from missing

    return run


def _chosen(
    path: Path,
    names: "Iterable[str] | None",
    start_spark: "Callable[[], object] | None" = None,
) -> "list[Pipeline]":
    from barnabas.spark.pipelines import load

    found = load(path) if start_spark is None else load(path, start_spark)
    if not names:
        return list(found.values())
    unknown = [name for name in names if name not in found]
    if unknown:
        raise UsageError(f"no pipeline {unknown[0]!r} in {path}: there are {', '.join(found)}")
    return [found[name] for name in dict.fromkeys(names)]


def _bootstrap(given: str | None) -> str:
    return given or os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP
