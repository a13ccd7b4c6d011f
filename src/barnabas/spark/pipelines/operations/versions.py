"""A new version of pipelines beside the one that runs, with names and outputs of its own.

Of `views_per_minute`, which writes to the topic `views-per-minute`, version `v2` is the pipeline
`views_per_minute-v2`, which writes to `views-per-minute-v2`. So it begins at the beginning, has a
consumer group whose lag tells how far it is, and disturbs nobody. Where one of several pipelines
reads what another one writes, its new version reads what the other's new version writes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.sinks.postgres import PostgresSink
from barnabas.spark.pipelines.sinks.topic import (
    ConsoleSink,
    MemorySink,
    ParquetSink,
    Sink,
    TopicSink,
)
from barnabas.spark.pipelines.sources.topic import Source, TableSource, TopicSource
from barnabas.sync.admin import Admin

_VERSION = re.compile(r"[A-Za-z0-9_.-]+$")


def as_version(pipelines: Iterable[Pipeline], version: str) -> list[Pipeline]:
    """The pipelines as another version of themselves."""
    if not _VERSION.match(version):
        raise InvalidArgument(f"version {version!r}: use letters, digits, . _ and - only")
    first = list(pipelines)
    topics = {
        each.sink.topic: f"{each.sink.topic}-{version}"
        for each in first
        if isinstance(each.sink, TopicSink)
    }
    return [
        replace(
            each,
            name=f"{each.name}-{version}",
            sources={name: _source(of, topics, version) for name, of in each.sources.items()},
            sink=_sink(each, version),
        )
        for each in first
    ]


def make_topics(pipelines: Iterable[Pipeline], version: str, bootstrap_servers: str) -> list[str]:
    """Make the topics that a version writes to, like those of the first one; returns the new ones.

    They have as many partitions and replicas, and the same configuration. Where there is no first
    one, none is made.
    """
    made = []
    with Admin(bootstrap_servers) as admin:
        there = admin.topics()
        for topic in sorted({topic for each in pipelines for topic in _written_by(each)}):
            new = f"{topic}-{version}"
            if topic in there and new not in there:
                admin.create_topic(
                    new,
                    partitions=len(there[topic].partitions),
                    replication_factor=there[topic].replication_factor,
                    configs={
                        name: entry.value
                        for name, entry in admin.configs(topic=topic).items()
                        if entry.is_own and entry.value is not None
                    },
                )
                made.append(new)
    return made


def _written_by(defined: Pipeline) -> list[str]:
    topics = [getattr(each, "dead_letters", None) for each in defined.sources.values()]
    if isinstance(defined.sink, TopicSink):
        topics.append(defined.sink.topic)
    return [each for each in topics if each is not None]


def _source(source: Source, topics: Mapping[str, str], version: str) -> Source:
    if isinstance(source, TableSource | TopicSource):
        read = [each.strip() for each in source.topic.split(",")]
        source = replace(source, topic=",".join(topics.get(each, each) for each in read))
    if isinstance(source, TopicSource) and source.dead_letters is not None:
        source = replace(source, dead_letters=f"{source.dead_letters}-{version}")
    return source


def _sink(defined: Pipeline, version: str) -> Sink:
    sink = defined.sink
    if isinstance(sink, TopicSink):
        return replace(sink, topic=f"{sink.topic}-{version}")
    if isinstance(sink, ParquetSink):
        return replace(sink, path=f"{sink.path.rstrip('/')}-{version}")
    if isinstance(sink, PostgresSink):
        return replace(sink, table=f"{sink.table}_{version}")
    if isinstance(sink, ConsoleSink | MemorySink):
        return sink
    raise InvalidArgument(
        f"pipeline {defined.name} writes to {sink.describe()}, where a version has no place of "
        "its own: define the new version as a pipeline with another name"
    )
