"""`barnabas pipeline list`: options and arguments."""

import typer

from barnabas.cli.base.command import AsJson, Verbose, common_options, exit_with
from barnabas.cli.base.output import print_json, print_table
from barnabas.cli.pipeline.arguments import Definitions, Names, Version, chosen_of, with_spark

EPILOG = "Example: barnabas pipeline list pipelines/"


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
