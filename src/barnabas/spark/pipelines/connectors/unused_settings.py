"""Settings that would have no effect: they are refused by name, with what to do instead.

Otherwise someone relies on a limit, a guarantee or a topic that is not there, and nothing says so.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.spark.pipelines.connectors.converters import refuse_converters
from barnabas.spark.pipelines.connectors.kinds import ConnectorKind
from barnabas.spark.pipelines.connectors.settings import ConfigErrors, argument_named
from barnabas.spark.pipelines.connectors.shared_settings import (
    COMMON,
    OF_BOTH,
    OF_SINKS,
    OF_SOURCES,
)
from barnabas.spark.pipelines.connectors.topic_ends import ONCE, READ_TOPICS, WRITE_TOPICS
from barnabas.spark.pipelines.definition.pipeline import Pipeline

_FILE_KINDS = ("from_files", "to_files", "to_parquet")
"""Their further settings are options of Spark's file formats, whose names only Spark knows."""
_FILE_OPTIONS = ("parquet.", "orc.", "avro.")
_OF_CONNECT = {each.name for each in (*COMMON, *OF_SINKS, *OF_SOURCES, *OF_BOTH)}
_OVERRIDES = ("consumer.override.", "producer.override.")
_LETTERS = "errors.deadletterqueue.topic.name"


class Ends(NamedTuple):
    """Both ends of a connector: what `connector.class` names, and the other one."""

    kind: ConnectorKind
    other: ConnectorKind

    @property
    def is_source(self) -> bool:
        return self.kind.direction == "source"

    @property
    def reads_topics(self) -> bool:
        """Whether `topics` are what it reads."""
        return not self.is_source and self.other.name == READ_TOPICS

    @property
    def writes_topics(self) -> bool:
        """Whether `topic` is what it writes."""
        return self.is_source and self.other.name == WRITE_TOPICS

    @property
    def sink(self) -> ConnectorKind:
        return self.other if self.is_source else self.kind


def check_effects(
    given: Mapping[str, str],
    ends: Ends,
    own: Mapping[str, str],
    other: Mapping[str, str],
    errors: ConfigErrors,
) -> None:
    """Refuse settings that these ends do not use."""
    if ends.is_source:
        _check_source(given, ends, errors)
    else:
        _check_sink(given, ends, other, errors)
    if not (ends.reads_topics or ends.writes_topics):
        refuse_converters(given, "no topic is at the other end of this connector", errors)
    if ONCE in given and ends.sink.name != WRITE_TOPICS:
        errors.add(
            ONCE,
            f"{ONCE} is for connectors that write topics, and would be ignored: {ends.sink.name} "
            "has one guarantee, which its documentation names; remove it",
        )
    _check_overrides(given, ends, errors)
    _check_file_options(ends.kind, own, "", errors)
    _check_file_options(ends.other, other, "sink." if ends.is_source else "source.", errors)


def check_topic_creation(
    given: Mapping[str, str], defined: Pipeline, topics: Iterable[str], errors: ConfigErrors
) -> None:
    """Refuse settings for new topics of a connector that writes none."""
    letters = [each.dead_letter_topic for each in defined.sources.values()]
    if any(letters) or defined.sink.required_topics or list(topics):
        return
    for each in OF_BOTH:
        if each.name in given:
            errors.add(
                each.name,
                f"{each.name} would be ignored: this connector writes no topic of the service's "
                "brokers; remove it",
            )


def _check_source(given: Mapping[str, str], ends: Ends, errors: ConfigErrors) -> None:
    is_own = argument_named(ends.kind.make, "topic") is not None
    if "topic" in given and not ends.writes_topics and not is_own:
        errors.add(
            "topic",
            f"topic would be ignored: rows go to sink.class={ends.other.name}; remove one of both",
        )


def _check_sink(
    given: Mapping[str, str], ends: Ends, other: Mapping[str, str], errors: ConfigErrors
) -> None:
    if not ends.reads_topics:
        for each in OF_SINKS:
            if each.name in given:
                errors.add(
                    each.name,
                    f"{each.name} would be ignored: rows come from source.class="
                    f"{ends.other.name}; remove one of both",
                )
        return
    ways = [each for each in ("topics", "topics.regex") if each in given]
    ways += [f"source.{each}" for each in ("topic", "pattern") if each in other]
    if len(ways) > 1 and ways != ["source.topic", "source.pattern"]:
        errors.add(ways[0], f"{' and '.join(ways)} are the same; set one of them")
    if _LETTERS in given and given.get("errors.tolerance", "all").lower() == "none":
        errors.add(
            "errors.tolerance",
            f"errors.tolerance=none fails at a bad record, and {_LETTERS} sends it to a topic: set "
            "errors.tolerance=all, or remove the topic",
        )


def _check_overrides(given: Mapping[str, str], ends: Ends, errors: ConfigErrors) -> None:
    used = _OVERRIDES[0] if ends.reads_topics else _OVERRIDES[1] if ends.writes_topics else None
    for name in given:
        if name.startswith(_OVERRIDES) and (used is None or not name.startswith(used)):
            client, _, setting = name.partition(".override.")
            errors.add(
                name,
                f"{name} would be ignored: no {client} is made for the other end of this "
                f"connector; of from_topic and to_topic set kafka.{setting}",
            )


def _check_file_options(
    kind: ConnectorKind, settings: Mapping[str, str], prefix: str, errors: ConfigErrors
) -> None:
    """Refuse what is no option of a file format: these have no dots in their names."""
    if kind.name not in _FILE_KINDS:
        return
    for name in settings:
        if argument_named(kind.make, name) is not None or name.startswith(_FILE_OPTIONS):
            continue
        if name in _OF_CONNECT or "." in name:
            errors.add(
                prefix + name,
                f"unknown setting {prefix + name!r} of {kind.name}, which Spark would ignore; "
                "remove it",
            )
