"""The topics at the other end: what a sink's connector reads, and what a source's writes."""

import inspect
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from barnabas.spark.pipelines.connectors.converters import (
    check_read_converters,
    check_written_converters,
)
from barnabas.spark.pipelines.connectors.settings import ConfigErrors

READ_TOPICS = "from_topic"
WRITE_TOPICS = "to_topic"
ONCE = "exactly.once.support"

_LIMIT = re.compile(r"max_\w+_per_batch")
_PLAIN_NAME = re.compile(r"[\w$-]+(?:\.[\w$-]+)*")
_TIMEOUT = "transaction.timeout.ms"
_REQUESTED_TIMEOUT_MS = "900000"  # the longest that brokers allow by default
_START = ("earliest", "latest")


def reading_topics(
    config: Mapping[str, str], given: Mapping[str, str], errors: ConfigErrors
) -> dict[str, str]:
    """Arguments of `from_topic` for a sink's connector; `given` are its settings `source.*`."""
    named = config.get("topics") or config.get("topics.regex")
    if not named and not given.get("topic"):
        errors.add(
            "topics",
            "Missing required setting 'topics', or 'topics.regex', unless source.class is set",
        )
    found = {"topic": named or "missing", "record": "", **given}
    if "topics.regex" in config:
        try:
            re.compile(config["topics.regex"])
            found["pattern"] = "true"
        except re.error as error:
            errors.add("topics.regex", f"topics.regex is not a regular expression: {error}")
    letters = config.get("errors.deadletterqueue.topic.name")
    if letters:
        found.setdefault("dead_letters", letters)
    elif config.get("errors.tolerance", "none").lower() == "all":
        found.setdefault("skip_undecodable", "true")
    check_read_converters(config, found, errors)
    for name, value in _overrides(config, "consumer").items():
        if name == "auto.offset.reset":
            where = f"consumer.override.{name}"
            if value not in _START:
                errors.add(where, "use earliest or latest there")
            if {"starting_offsets", "starting.offsets"} & given.keys():
                errors.add(where, f"{where} and source.starting.offsets are the same; set one")
            else:
                found["starting_offsets"] = value
        else:
            found[f"kafka.{name}"] = value
    return found


def writing_topics(
    config: Mapping[str, str],
    given: Mapping[str, str],
    source: Mapping[str, str],
    errors: ConfigErrors,
) -> dict[str, str]:
    """Arguments of `to_topic` for a source's connector; `source` are those of its source."""
    found = dict(given)
    names = topics_of_tables(source)
    if names is not None:  # its records name their topics
        _default(found, "topic_per_row", "true")
        found.setdefault(
            "topic", config.get("topic") or (names or [f"{source['topic_prefix']}"])[0]
        )
    elif "topic" in source:  # the topic that it reads
        if "topic" not in found:
            errors.add(
                "sink.topic",
                "Missing required setting 'sink.topic': the topic to write, since `topic` is the "
                "one that is read",
            )
    elif "topic" in config:
        if "topic" in found:
            errors.add("topic", "topic and sink.topic are the same; set one of them")
        found.setdefault("topic", config["topic"])
    else:
        _check_topic(found, errors)
    found.setdefault("topic", "missing")
    found |= once_settings(config, found, errors)
    route_rows(config, found)
    check_written_converters(config, found, envelope=names is not None, errors=errors)
    return found | {f"kafka.{n}": value for n, value in _overrides(config, "producer").items()}


def _check_topic(found: Mapping[str, str], errors: ConfigErrors) -> None:
    if "topic" not in found:
        errors.add("topic", "Missing required setting 'topic', which has no default value")


def once_settings(
    config: Mapping[str, str], given: Mapping[str, str], errors: ConfigErrors
) -> dict[str, str]:
    """What `exactly.once.support` means for `to_topic`, where its own arguments do not say it.

    Transactions without a timeout are safest, and brokers do not allow them by default.
    """
    support = config.get(ONCE, "requested").lower()
    if {"exactly_once", "exactly.once"} & given.keys():
        if ONCE in config:
            errors.add(ONCE, f"{ONCE} and exactly.once say the same; set one of them")
        return {}
    if support == "disabled":
        return {}
    found = {"exactly_once": "true"}
    has_own = f"producer.override.{_TIMEOUT}" in config or f"kafka.{_TIMEOUT}" in given
    if support == "requested" and not has_own:
        found |= {f"kafka.{_TIMEOUT}": _REQUESTED_TIMEOUT_MS}
    return found


def route_rows(config: Mapping[str, str], sink: dict[str, str]) -> None:
    """Let rows name their topics, if a transform chooses them."""
    if router_of(config) is not None:
        _default(sink, "topic_per_row", "true")


def _default(settings: dict[str, str], argument: str, value: str) -> None:
    """Set an argument, unless it is given under either of its names."""
    if argument.replace("_", ".") not in settings:
        settings.setdefault(argument, value)


def router_of(config: Mapping[str, str]) -> str | None:
    """The setting of the first transform that chooses the topic of each record."""
    for name, value in config.items():
        if re.fullmatch(r"transforms\.[^.]+\.type", name) and value.endswith("Router"):
            return name
    return None


def topics_of_tables(source: Mapping[str, str]) -> list[str] | None:
    """The topics of changes of tables, as far as they are known; None of other sources."""
    prefix, tables = source.get("topic_prefix"), source.get("tables")
    if prefix is None or tables is None or "schema" in source:
        return None
    names = [each.strip().replace("\\.", ".") for each in tables.split(",")]
    schema = "public" if source.get("url", "").startswith("postgres") else _database(source)
    whole = [each if "." in each else f"{schema}.{each}" for each in names if each]
    return [f"{prefix}.{each}" for each in whole if _PLAIN_NAME.fullmatch(each)]


def _database(source: Mapping[str, str]) -> str:
    return urlsplit(source.get("url", "")).path.strip("/")


def limit_argument(make: Callable[..., object]) -> str | None:
    """The argument or option of a source that limits the rows of a batch."""
    if make.__name__ == READ_TOPICS:
        return "maxOffsetsPerTrigger"
    return next(filter(_LIMIT.fullmatch, inspect.signature(make).parameters), None)


def _overrides(config: Mapping[str, str], client: str) -> dict[str, str]:
    prefix = f"{client}.override."
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }
