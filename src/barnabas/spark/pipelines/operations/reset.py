"""Resetting pipelines: the next run starts from the beginning."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.run.dead_letters import dead_letter_pipelines
from barnabas.spark.pipelines.run.run_folder import RunFolder


def what_is_there(folder: RunFolder, pipelines: Iterable[Pipeline], *, tables: bool) -> list[Path]:
    """What a reset deletes: checkpoints, and with `tables` the output that can't be kept.

    Raises if a pipeline is running, or if its output has to be deleted too, or can't be.
    """
    found = []
    for each in _with_dead_letters(pipelines):
        if folder.is_running(each.name):
            raise PipelineError(f"pipeline {each.name} is running: stop it first")
        if (folder.folder / each.name).is_dir():
            found.append(folder.folder / each.name)
        found += _output(folder, each, tables=tables)
    return found


def reset_pipelines(folder: RunFolder, pipelines: Collection[Pipeline], *, tables: bool) -> None:
    """Delete it."""
    what_is_there(folder, pipelines, tables=tables)  # things may have changed since it was shown
    for each in _with_dead_letters(pipelines):
        if tables and _output(folder, each, tables=tables):
            each.sink.delete_output()
        folder.reset(each.name)


def _output(folder: RunFolder, defined: Pipeline, *, tables: bool) -> list[Path]:
    try:
        return defined.sink.output_to_delete(folder.writer_of(defined.name), delete=tables)
    except InvalidArgument as error:
        raise InvalidArgument(f"pipeline {defined.name}: {error}") from None
    except PipelineError as error:
        raise PipelineError(f"pipeline {defined.name}: {error}") from None


def _with_dead_letters(pipelines: Iterable[Pipeline]) -> Iterator[Pipeline]:
    for each in pipelines:
        yield each
        yield from dead_letter_pipelines(each)
