"""Resetting pipelines: the next run starts from the beginning."""

from collections.abc import Collection, Iterable
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.run.former_letters import former_names
from barnabas.spark.pipelines.run.run_folder import RunFolder


def what_is_there(folder: RunFolder, pipelines: Iterable[Pipeline], *, tables: bool) -> list[Path]:
    """What a reset deletes: checkpoints, and with `tables` the output that can't be kept.

    Raises if a pipeline is running, or if its output has to be deleted too, or can't be.
    """
    found = []
    for each in pipelines:
        if folder.is_running(each.name):
            raise PipelineError(f"pipeline {each.name} is running: stop it first")
        folders = [folder.folder / name for name in (each.name, *former_names(each))]
        found += [path for path in folders if path.is_dir()]
        found += _output(folder, each, tables=tables)
    return found


def reset_pipelines(folder: RunFolder, pipelines: Collection[Pipeline], *, tables: bool) -> None:
    """Delete it."""
    what_is_there(folder, pipelines, tables=tables)  # it may have changed since it was shown
    for each in pipelines:
        if tables and _output(folder, each, tables=tables):
            each.sink.delete_output()
        for name in (each.name, *former_names(each)):
            folder.reset(name)


def _output(folder: RunFolder, defined: Pipeline, *, tables: bool) -> list[Path]:
    try:
        return defined.sink.output_to_delete(folder.writer_of(defined.name), delete=tables)
    except InvalidArgument as error:
        raise InvalidArgument(f"pipeline {defined.name}: {error}") from None
    except PipelineError as error:
        raise PipelineError(f"pipeline {defined.name}: {error}") from None
