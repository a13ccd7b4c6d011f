"""Settings that all connectors have, under the names of Kafka Connect where it has one."""

from collections.abc import Mapping

from barnabas.spark.pipelines.connectors.settings import ConfigErrors, Setting
from barnabas.spark.pipelines.interval import is_period

CONVERTERS = {
    "org.apache.kafka.connect.json.JsonConverter": "json",
    "org.apache.kafka.connect.storage.StringConverter": "string",
    "org.apache.kafka.connect.converters.ByteArrayConverter": "bytes",
}
"""Converters by class; the short names are understood too."""

_BOOLEAN = ("true", "false")

COMMON = [
    Setting("name", documentation="Name of the connector.", required=True, importance="HIGH"),
    Setting(
        "connector.class",
        "CLASS",
        documentation="What it reads or writes: from_..., to_..., pipeline, or a class name of "
        "Kafka Connect that stands for one of them.",
        required=True,
        importance="HIGH",
    ),
    Setting(
        "tasks.max",
        "INT",
        "1",
        "Accepted for compatibility: Spark divides the work itself.",
        importance="LOW",
    ),
    Setting("key.converter", "CLASS", documentation="JSON, string or bytes converter."),
    Setting("key.converter.schemas.enable", "BOOLEAN", documentation="Only false."),
    Setting("value.converter", "CLASS", documentation="JSON, string or bytes converter."),
    Setting("value.converter.schemas.enable", "BOOLEAN", documentation="Only false."),
    Setting("transform.sql", documentation="A query of the view `source`, between both ends."),
    Setting(
        "transforms",
        "LIST",
        documentation="Transforms by name, applied in this order after transform.sql; each has its "
        "own settings, transforms.NAME.type and so on.",
    ),
    Setting("predicates", "LIST", documentation="Conditions by name, for the transform Filter."),
    Setting("trigger", documentation="How often a batch starts, as `10 seconds`."),
    Setting("max.rows.per.batch", "INT", documentation="About how many rows a batch reads."),
    Setting("restarts.max", "INT", documentation="Failures in a row before it is FAILED."),
    Setting(
        "spark.own",
        "BOOLEAN",
        "false",
        "Whether it has a Spark driver for itself.",
        recommended=_BOOLEAN,
    ),
]
"""Further ones are `spark.*`: Spark's settings, but for `spark.sql.*` only with `spark.own`."""

ONCE = Setting(
    "exactly.once.support",
    default="requested",
    documentation="requested: in transactions of at most 15 minutes; required: without that "
    "limit, which brokers have to allow; disabled: at least once.",
    recommended=("required", "requested", "disabled"),
)

OF_SINKS = [
    Setting("topics", "LIST", documentation="Topics to read.", importance="HIGH"),
    Setting(
        "errors.tolerance",
        default="none",
        documentation="Whether to skip undecodable records.",
        recommended=("none", "all"),
    ),
    Setting("errors.deadletterqueue.topic.name", documentation="Topic for undecodable records."),
    Setting(
        "errors.deadletterqueue.context.headers.enable",
        "BOOLEAN",
        "true",
        "Only true: headers say where a record was and why it is there.",
        recommended=("true",),
    ),
]
OF_SOURCES = [
    Setting("topic", documentation="Topic to write.", importance="HIGH"),
    ONCE,
]
OF_BOTH = [
    Setting(
        "topic.creation.enable",
        "BOOLEAN",
        "true",
        "Whether topics to write are created.",
        recommended=_BOOLEAN,
    ),
    Setting("topic.creation.default.partitions", "INT", "-1", "-1 is the broker's default."),
    Setting(
        "topic.creation.default.replication.factor", "INT", "-1", "-1 is the broker's default."
    ),
]

_NOT_SUPPORTED = {
    "topics.regex": "name the topics, or set source.subscribepattern",
    "header.converter": "headers are passed as bytes",
    "config.providers": "give passwords by ~/.pgpass or the environment of the service",
}


def check_common(config: Mapping[str, str], errors: ConfigErrors) -> None:
    """Find what is wrong with these settings, whatever the connector."""
    for each in (*COMMON, *OF_SINKS, *OF_SOURCES, *OF_BOTH):
        value = config.get(each.name)
        if value is not None:
            _check_type(each, value, errors)
    for name, advice in _NOT_SUPPORTED.items():
        for given in config:
            if given == name or given.startswith(f"{name}."):
                errors.add(given, f"{given} is not supported: {advice}")
    if int(_number(config.get("tasks.max", "1")) or 0) < 1:
        errors.add("tasks.max", f"tasks.max is 1 or more, not {config['tasks.max']!r}")
    trigger = config.get("trigger")
    if trigger is not None and not is_period(trigger):
        errors.add("trigger", f'trigger is an interval such as "10 seconds", not {trigger!r}')
    for part in ("key", "value"):
        _check_converter(config, part, errors)


def converter_of(config: Mapping[str, str], part: str = "value") -> str | None:
    """The short name of a converter; None if there is none."""
    given = config.get(f"{part}.converter")
    return None if given is None else CONVERTERS.get(given, given)


def _check_type(setting: Setting, value: str, errors: ConfigErrors) -> None:
    if setting.type == "INT" and _number(value) is None:
        errors.add(setting.name, f"{setting.name} is a number, not {value!r}")
    elif setting.type == "BOOLEAN" and value.lower() not in _BOOLEAN:
        errors.add(setting.name, f"{setting.name} is true or false, not {value!r}")
    elif setting.recommended and value.lower() not in setting.recommended:
        known = " or ".join(setting.recommended)
        errors.add(setting.name, f"{setting.name} is {known}, not {value!r}")


def _check_converter(config: Mapping[str, str], part: str, errors: ConfigErrors) -> None:
    name = f"{part}.converter"
    known = {*CONVERTERS.values()}
    found = converter_of(config, part)
    if found is not None and found not in known:
        errors.add(
            name,
            f"{name}: {found} is not supported; use {', '.join(CONVERTERS)}, or for Avro and "
            "Protobuf source.format and source.schema",
        )
    has_schemas = config.get(f"{name}.schemas.enable", "true").lower() == "true"
    if found == "json" and has_schemas:
        errors.add(
            f"{name}.schemas.enable",
            f"{name}: JSON with a schema in every record is not supported; set "
            f"{name}.schemas.enable=false",
        )


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
