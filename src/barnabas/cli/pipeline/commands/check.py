"""`barnabas pipeline check`: options and arguments."""

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.base.output import print_json, print_table
from barnabas.cli.pipeline.arguments import Definitions, start_quietly

EPILOG = "Example: barnabas pipeline check pipelines/"


@command("as_json")
def check(common: CommonOptions, path: Definitions) -> int:
    """Check definitions and report all errors.

    Neither Spark nor a broker is needed. The exit code is 1 if there are errors. Columns and types
    are checked when a pipeline is run.
    """
    from barnabas.spark.pipelines.definition.definitions import load_each

    found = load_each(path, lambda: start_quietly(path))
    rows: list[tuple[str, str, str | None]] = [
        (each.name, str(each.defined_in), None) for each in found.pipelines.values()
    ]
    rows += [(each.name, str(each.file), each.reason) for each in found.bad]
    if common.as_json:
        names = ("pipeline", "file", "error")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        shown = [
            (name, "ok" if error is None else "error", error or None) for name, _file, error in rows
        ]
        print_table(("pipeline", "result", "error"), shown)
    return exit_codes.FAILURE if found.bad else exit_codes.OK
