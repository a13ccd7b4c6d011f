"""The topics at the other end: what a sink's connector reads, and what a source's writes."""

import inspect
import re
from collections.abc import Callable, Mapping

from barnabas.spark.pipelines.connectors.common import converter_of
from barnabas.spark.pipelines.connectors.settings import ConfigErrors

READ_TOPICS = "from_topic"
WRITE_TOPICS = "to_topic"

_LIMIT = re.compile(r"max_\w+_per_batch")
_PLAIN_NAME = re.compile(r"[\w$-]+(?:\.[\w$-]+)*")
_TIMEOUT = "transaction.timeout.ms"
_REQUESTED_TIMEOUT_MS = "900000"  # the longest that brokers allow by default
_START = {"earliest": "earliest", "latest": "latest"}


def reading_topics(
    config: Mapping[str, str], given: Mapping[str, str], errors: ConfigErrors
) -> dict[str, str]:
    """Arguments of `from_topic` for a sink's connector; `given` are its settings `source.*`."""
    if not config.get("topics") and "topic" not in given:
        errors.add("topics", "Missing required setting 'topics', unless source.class is set")
    found = {"topic": config.get("topics") or "missing", "record": "", **given}
    letters = config.get("errors.deadletterqueue.topic.name")
    if letters:
        found.setdefault("dead_letters", letters)
    elif config.get("errors.tolerance", "none").lower() == "all":
        found.setdefault("skip_undecodable", "true")
    if converter_of(config) == "json" and "schema" not in given:
        errors.add(
            "source.schema",
            "Missing required setting 'source.schema': the columns of the JSON values, such as "
            '"id BIGINT, name STRING"',
        )
    if converter_of(config) in ("string", "bytes") and "schema" in given:
        errors.add("source.schema", "source.schema is for JSON values; set value.converter to JSON")
    for name, value in _overrides(config, "consumer").items():
        if name == "auto.offset.reset":
            if value not in _START:
                errors.add("consumer.override.auto.offset.reset", "use earliest or latest there")
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
        found.setdefault("topic_per_row", "true")
        found.setdefault(
            "topic", config.get("topic") or (names or [f"{source['topic_prefix']}"])[0]
        )
    elif "topic" in config:
        found.setdefault("topic", config["topic"])
    if "topic" not in found:
        errors.add("topic", "Missing required setting 'topic', which has no default value")
        found["topic"] = "missing"
    found |= once_settings(config, found)
    if router_of(config) is not None:
        found.setdefault("topic_per_row", "true")
    if converter_of(config) in ("string", "bytes") and "transform.sql" not in config:
        errors.add(
            "value.converter",
            "value.converter: rows are written as JSON; for other values select them as the column "
            "`value` in transform.sql",
        )
    return found | {f"kafka.{n}": value for n, value in _overrides(config, "producer").items()}


def once_settings(config: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What `exactly.once.support` means for `to_topic`, where its own arguments do not say it.

    Transactions without a timeout are safest, and brokers do not allow them by default.
    """
    support = config.get("exactly.once.support", "requested").lower()
    if "exactly_once" in given or "exactly.once" in given or support == "disabled":
        return {}
    found = {"exactly_once": "true"}
    if support == "requested" and f"producer.override.{_TIMEOUT}" not in config:
        found |= {f"kafka.{_TIMEOUT}": _REQUESTED_TIMEOUT_MS}
    return found


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
    names = [each.strip() for each in tables.split(",")]
    whole = [each if "." in each else f"public.{each}" for each in names if each]
    return [f"{prefix}.{each}" for each in whole if _PLAIN_NAME.fullmatch(each)]


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
