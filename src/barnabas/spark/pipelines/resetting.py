"""Making pipelines begin anew."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition import Pipeline, PipelineError
from barnabas.spark.pipelines.run_folder import RunFolder
from barnabas.spark.pipelines.running import dead_letter_pipelines
from barnabas.spark.pipelines.sinks import ParquetSink


def what_is_there(folder: RunFolder, pipelines: Iterable[Pipeline], *, tables: bool) -> list[Path]:
    """What a reset deletes. Raises if one of them runs, or its table has to go too."""
    found = []
    for each in _with_dead_letters(pipelines):
        if folder.is_running(each.name):
            raise PipelineError(f"pipeline {each.name} is running: stop it first")
        if (folder.folder / each.name).is_dir():
            found.append(folder.folder / each.name)
        table = _table(each)
        if table is None:
            continue
        if not tables:
            raise InvalidArgument(
                f"pipeline {each.name}: its table in {table} would take none of the batches that "
                "it has already, and leave out rows. Delete the table too, with --tables, or move "
                "it away first"
            )
        found.append(table)
    return found


def reset_pipelines(folder: RunFolder, pipelines: Iterable[Pipeline], *, tables: bool) -> None:
    """Delete it."""
    for each in _with_dead_letters(pipelines):
        table = _table(each)
        if table is not None and tables:
            shutil.rmtree(table)
        folder.reset(each.name)


def _table(defined: Pipeline) -> Path | None:
    return defined.sink.folder if isinstance(defined.sink, ParquetSink) else None


def _with_dead_letters(pipelines: Iterable[Pipeline]) -> Iterator[Pipeline]:
    for each in pipelines:
        yield each
        yield from dead_letter_pipelines(each)
