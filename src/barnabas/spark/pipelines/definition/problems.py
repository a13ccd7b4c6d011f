"""Finds errors in definitions without Spark, all of them at once.

Spark takes seconds to start, and three errors should not take three starts.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.definition.loader import definition_files, load
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.errors.error_list import raise_all
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError


def load_all(path: Path, start_spark: Callable[[], object]) -> dict[str, Pipeline]:
    """The pipelines of a path; raises the errors of all files, not only of the first."""
    try:
        return load(path, start_spark)
    except (InvalidArgument, PipelineError) as first:
        if not path.is_dir():
            raise
        errors: list[BarnabasError] = []
        for file in definition_files(path):
            try:
                load(file, start_spark)
            except (InvalidArgument, PipelineError) as error:
                if is_about(file, error):
                    errors.append(error)
        raise_all(errors or [first])
        raise


def check_definitions(pipelines: Iterable[Pipeline]) -> None:
    """Raise errors that Spark would report later, as far as they can be found without it."""
    raise_all([each for defined in pipelines for each in problems_of(defined)])


def problems_of(defined: Pipeline) -> Iterator[BarnabasError]:
    """Its errors that can be found without Spark."""
    for name, source in defined.sources.items():
        for found in source.problems():
            yield InvalidArgument(
                f"pipeline {defined.name}: {found.part} of source {name}: {found.reason}"
            )
    has_stream = any(each.is_stream for each in defined.sources.values())
    if not has_stream and not _may_read_more(defined):
        yield InvalidArgument(
            f"pipeline {defined.name} has no streaming source: its rows would never change"
        )


def is_about(file: Path, error: BarnabasError) -> bool:
    """Whether it is an error in this file: in a folder, some files may define nothing."""
    return not str(error).startswith(f"no pipeline in {file}")


def _may_read_more(defined: Pipeline) -> bool:
    """A function that takes the session may read with it; a query does so if it has no sources."""
    is_query = defined.defined_in is not None and defined.defined_in.suffix == ".sql"
    return defined.takes_session and not (is_query and defined.sources)
