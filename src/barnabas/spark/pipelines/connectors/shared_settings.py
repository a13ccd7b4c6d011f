"""Settings that all connectors have, under the names of Kafka Connect where it has one."""

from collections.abc import Mapping

from barnabas.spark.pipelines.connectors.converters import check_converters
from barnabas.spark.pipelines.connectors.settings import ConfigErrors, Setting
from barnabas.spark.pipelines.interval import is_period

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
        "topics.regex",
        documentation="Read the topics whose whole name matches, also those that come later.",
        importance="HIGH",
    ),
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

_LEAST = {"tasks.max": 1, "max.rows.per.batch": 1, "restarts.max": 0}
_NEW_TOPICS = [each.name for each in OF_BOTH if each.type == "INT"]
_NOT_SUPPORTED = {
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
    for name, least in _LEAST.items():
        number = _number(config.get(name, ""))
        if number is not None and number < least:
            errors.add(name, f"{name} is {least} or more, not {number}")
    for name in _NEW_TOPICS:
        number = _number(config.get(name, ""))
        if number is not None and number != -1 and number < 1:
            errors.add(name, f"{name} is 1 or more, or -1 for the broker's default, not {number}")
    trigger = config.get("trigger")
    if trigger is not None and not is_period(trigger):
        errors.add("trigger", f'trigger is an interval such as "10 seconds", not {trigger!r}')
    check_converters(config, errors)


def _check_type(setting: Setting, value: str, errors: ConfigErrors) -> None:
    if setting.type == "INT" and _number(value) is None:
        errors.add(setting.name, f"{setting.name} is a number, not {value!r}")
    elif setting.type == "BOOLEAN" and value.lower() not in _BOOLEAN:
        errors.add(setting.name, f"{setting.name} is true or false, not {value!r}")
    elif setting.recommended and value.lower() not in setting.recommended:
        known = " or ".join(setting.recommended)
        errors.add(setting.name, f"{setting.name} is {known}, not {value!r}")


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
