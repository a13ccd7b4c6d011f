"""Making pipelines begin anew."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.parquet.table import ParquetTable
from barnabas.spark.pipelines.parquet.table_owner import query_of
from barnabas.spark.pipelines.run.pipeline_run import dead_letter_pipelines
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.sinks.topic import ParquetSink


def what_is_there(folder: RunFolder, pipelines: Iterable[Pipeline], *, tables: bool) -> list[Path]:
    """What a reset deletes. Raises if one of them runs, or its table has to go too, or can't."""
    found = []
    for each in _with_dead_letters(pipelines):
        if folder.is_running(each.name):
            raise PipelineError(f"pipeline {each.name} is running: stop it first")
        if (folder.folder / each.name).is_dir():
            found.append(folder.folder / each.name)
        table = _table(each)
        if table is None:
            continue
        other = _other_owner(folder, each)
        if other is not None and tables:
            raise PipelineError(f"pipeline {each.name}: {other}")
        if other is not None:
            continue  # it is none of our business
        if not tables:
            raise InvalidArgument(
                f"pipeline {each.name}: its table in {table} would take none of the batches that "
                "it has already, and leave out rows. Delete the table too, with --tables, or move "
                "it away first"
            )
        ParquetTable(table).check_idle()
        found.append(table)
    return found


def reset_pipelines(folder: RunFolder, pipelines: Collection[Pipeline], *, tables: bool) -> None:
    """Delete it."""
    what_is_there(folder, pipelines, tables=tables)  # much may have happened since it was asked for
    for each in _with_dead_letters(pipelines):
        table = _table(each)
        if table is not None and tables:
            ParquetTable(table).delete()
        folder.reset(each.name)


def _other_owner(folder: RunFolder, defined: Pipeline) -> str | None:
    """Whose the table of a pipeline is, and what to do then, if it is not its own."""
    table = _table(defined)
    owner = None if table is None else ParquetTable(table).owner
    mine = folder.writer_of(defined.name)
    if owner is None or owner.is_former(mine) or owner.is_same(query_of(mine.checkpoint), mine):
        return None
    assert owner.writer is not None
    runs = RunFolder(Path(owner.writer.folder)).is_running(owner.writer.pipeline)
    return (
        f"the table in {table} belongs to another one, {owner.describe()}"
        f"{', and it is running' if runs else ''}. Reset it there (--checkpoints "
        f"{owner.writer.folder}), or give this one a path of its own; if nobody needs the table "
        "any more, delete its folder yourself"
    )


def _table(defined: Pipeline) -> Path | None:
    return defined.sink.folder if isinstance(defined.sink, ParquetSink) else None


def _with_dead_letters(pipelines: Iterable[Pipeline]) -> Iterator[Pipeline]:
    for each in pipelines:
        yield each
        yield from dead_letter_pipelines(each)
