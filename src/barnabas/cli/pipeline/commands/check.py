"""`barnabas pipeline check`: options and arguments."""

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.base.output import print_json, print_table
from barnabas.cli.pipeline.arguments import Definitions, with_spark

EPILOG = "Example: barnabas pipeline check pipelines/"


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
