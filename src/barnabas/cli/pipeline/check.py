"""What can be seen to be wrong before Spark, which takes a while, is started."""

from collections.abc import Iterable, Iterator

from barnabas.cli.base.output import say
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines import Pipeline, PipelineError, RunFolder
from barnabas.spark.pipelines.errors.several import raise_all
from barnabas.spark.pipelines.run.pipeline_run import check_table, dead_letter_pipelines
from barnabas.spark.pipelines.sinks.topic import ParquetSink, TopicSink
from barnabas.spark.pipelines.sources.topic import TableSource, TopicSource
from barnabas.sync.admin import Admin

_ELSEWHERE = {"kafka.bootstrap.servers", "subscribepattern", "assign"}


def check_before_start(pipelines: Iterable[Pipeline], bootstrap: str, folder: RunFolder) -> None:
    """Raise if one runs already, may not write to its table, or if no broker answers.

    Tells of topics that do not exist.
    """
    known = [all_of for each in pipelines for all_of in (each, *dead_letter_pipelines(each))]
    errors: list[BarnabasError] = []
    for each in known:
        try:
            folder.check_not_running(each.name)
            _check_table_here(each, folder)
        except (InvalidArgument, PipelineError) as error:
            errors.append(error)
    raise_all(errors)
    wanted = {topic: each.name for each in known for topic in (*_read_by(each), *_written_by(each))}
    if not wanted:
        return
    with Admin(bootstrap) as admin:
        there = admin.topics(internal=True).keys()
    for topic in sorted(wanted.keys() - there):
        say(
            f"topic {topic} does not exist, and pipeline {wanted[topic]} needs it: "
            f"barnabas topics create {topic}"
        )


def _check_table_here(pipeline: Pipeline, folder: RunFolder) -> None:
    """If there is one: whether it could be elsewhere, only Spark knows."""
    if isinstance(pipeline.sink, ParquetSink) and pipeline.sink.folder is not None:
        try:
            check_table(pipeline.sink, folder, pipeline.name)
        except InvalidArgument as error:
            raise InvalidArgument(f"pipeline {pipeline.name}: {error}") from None


def _read_by(pipeline: Pipeline) -> Iterator[str]:
    for source in pipeline.sources.values():
        if isinstance(source, TopicSource | TableSource) and not _elsewhere(source.options):
            yield from (each.strip() for each in source.topic.split(","))


def _written_by(pipeline: Pipeline) -> Iterator[str]:
    if isinstance(pipeline.sink, TopicSink) and not _elsewhere(pipeline.sink.options):
        yield pipeline.sink.topic


def _elsewhere(options: Iterable[str]) -> bool:
    """Whether options name another cluster, or topics in another way."""
    return any(each.lower() in _ELSEWHERE for each in options)
