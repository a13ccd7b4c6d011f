"""A new version of pipelines, which runs alongside the original under another name.

Version `v2` of `views_per_minute`, which writes to the topic `views-per-minute`, is the pipeline
`views_per_minute-v2`, which writes to `views-per-minute-v2`. It starts from the beginning, and its
consumer group shows how far behind it is. Where one of several pipelines reads what another one
writes, its new version reads what the other's new version writes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.sinks.sink import Sink
from barnabas.sync.admin import Admin

_VERSION = re.compile(r"[A-Za-z0-9_.-]+$")


def as_version(pipelines: Iterable[Pipeline], version: str) -> list[Pipeline]:
    """The pipelines as another version of themselves."""
    if not _VERSION.match(version):
        raise InvalidArgument(f"version {version!r}: use letters, digits, . _ and - only")
    first = list(pipelines)
    sinks = {each.name: _sink(each, version) for each in first}
    topics = {
        topic: new
        for each in first
        for topic, new in zip(each.sink.topics, sinks[each.name].topics, strict=True)
    }
    return [
        replace(
            each,
            name=f"{each.name}-{version}",
            sources={
                name: source.as_version(version, topics) for name, source in each.sources.items()
            },
            sink=sinks[each.name],
        )
        for each in first
    ]


def make_topics(
    pipelines: Iterable[Pipeline],
    version: str,
    bootstrap_servers: str,
    *,
    security: Mapping[str, str] | None = None,
) -> list[str]:
    """Create the topics that a version writes, and return the new ones.

    Each has the partitions, replicas and configuration of the original's topic. If the original
    topic does not exist yet, none is created.
    """
    first = list(pipelines)
    new_names = {
        topic: new
        for original, versioned in zip(first, as_version(first, version), strict=True)
        for topic, new in zip(_written_by(original), _written_by(versioned), strict=True)
    }
    made = []
    with Admin(bootstrap_servers, security=security) as admin:
        there = admin.topics()
        for topic, new in sorted(new_names.items()):
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
    letters = [each.dead_letter_topic for each in defined.sources.values()]
    return [*(each for each in letters if each is not None), *defined.sink.topics]


def _sink(defined: Pipeline, version: str) -> Sink:
    try:
        return defined.sink.as_version(version)
    except InvalidArgument as error:
        raise InvalidArgument(f"pipeline {defined.name}: {error}") from None
