"""What can be seen to be wrong before Spark, which takes a while, is started."""

from collections.abc import Iterable, Iterator

from barnabas.cli.output import say
from barnabas.spark.pipelines import Pipeline, RunFolder
from barnabas.spark.pipelines.running import dead_letter_pipelines
from barnabas.spark.pipelines.sinks import TopicSink
from barnabas.spark.pipelines.sources import TableSource, TopicSource
from barnabas.sync.admin import Admin

_ELSEWHERE = {"kafka.bootstrap.servers", "subscribepattern", "assign"}


def check_before_start(pipelines: Iterable[Pipeline], bootstrap: str, folder: RunFolder) -> None:
    """Raise if one runs already, or if no broker answers; tell of topics that do not exist."""
    known = [all_of for each in pipelines for all_of in (each, *dead_letter_pipelines(each))]
    for each in known:
        folder.check_not_running(each.name)
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
