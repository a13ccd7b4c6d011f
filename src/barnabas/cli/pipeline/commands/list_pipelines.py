"""`barnabas pipeline list`: options and arguments."""

from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.base.output import print_json, print_table
from barnabas.cli.pipeline.arguments import Definitions, Names, Version, chosen_of

EPILOG = "Example: barnabas pipeline list pipelines/"


@command("as_json")
def list_pipelines(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    version: Version = None,
) -> None:
    """List pipelines with their sources and sinks."""
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
    if common.as_json:
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
