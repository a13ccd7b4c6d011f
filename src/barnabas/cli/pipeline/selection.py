"""Which pipelines a run starts, and which invalid definitions it leaves out."""

from collections.abc import Callable, Iterable
from pathlib import Path

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.output import say
from barnabas.spark.pipelines.connectors.connector_file import SUFFIX, load_connector
from barnabas.spark.pipelines.definition.definitions import BadDefinition, Definitions, load_each
from barnabas.spark.pipelines.errors.error_list import raise_all


def definitions_to_run(
    path: Path,
    names: Iterable[str] | None,
    start_spark: Callable[[], object],
    *,
    strict: bool,
) -> Definitions:
    """The valid pipelines of a folder; with `strict`, all definitions have to be valid.

    Pipelines that are named, and those of a single file, have to be valid in any case.
    """
    load = load_connector if path.suffix == SUFFIX and path.is_file() else load_each
    found = load(path, start_spark)
    wanted = list(dict.fromkeys(names or ()))
    if wanted:
        bad = [each for each in found.bad if each.name in wanted]
        raise_all([each.error for each in bad])
        unknown = [name for name in wanted if name not in found.pipelines]
        if unknown:
            raise_all([each.error for each in found.bad])  # one of these may define it
            known = ", ".join(found.pipelines)
            raise UsageError(f"no pipeline {unknown[0]!r} in {path}: there are {known}")
        return Definitions({name: found.pipelines[name] for name in wanted})
    if strict or path.is_file() or not found.pipelines:
        found.check()
    return found


def say_what_is_left_out(bad: Iterable[BadDefinition]) -> None:
    """Report why they do not run."""
    for each in bad:
        say(f"error: {each.name} is not started: {each.reason}")
