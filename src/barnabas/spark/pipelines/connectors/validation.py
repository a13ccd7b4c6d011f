"""Settings and what is wrong with them, in the shape of Kafka Connect's REST API."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.security.secret_settings import is_secret
from barnabas.spark.pipelines.connectors.java_names import JAVA_NAMES
from barnabas.spark.pipelines.connectors.kinds import PIPELINE, kind_named, kinds
from barnabas.spark.pipelines.connectors.mirrors import (
    COMMON_OF_MIRRORS,
    MIRRORS,
    OF_MIRRORS,
)
from barnabas.spark.pipelines.connectors.pipeline_files import (
    OF_PIPELINES,
    TAKEN,
    check_config,
)
from barnabas.spark.pipelines.connectors.settings import Setting, settings_of
from barnabas.spark.pipelines.connectors.shared_settings import (
    COMMON,
    OF_BOTH,
    OF_SINKS,
    OF_SOURCES,
)
from barnabas.spark.pipelines.connectors.topic_ends import READ_TOPICS, WRITE_TOPICS
from barnabas.spark.pipelines.postgres.connection import shown as without_password


def plugins(version: str) -> list[dict[str, str]]:
    """What `GET /connector-plugins` lists."""
    found = [
        {"class": each.name, "type": each.direction, "version": version}
        for each in kinds().values()
    ]
    found.append({"class": PIPELINE, "type": "sink", "version": version})
    found += [{"class": each, "type": "source", "version": version} for each in MIRRORS]
    found += [
        {"class": name, "type": kind_named(java.kind).direction, "version": version}
        for name, java in JAVA_NAMES.items()
    ]
    return found


def definitions(plugin: str) -> list[Setting]:
    """The settings of a plugin; raises `InvalidArgument` if there is none of that name."""
    if plugin == PIPELINE:
        return [*(each for each in COMMON if each.name in TAKEN), *OF_PIPELINES]
    name = _full_name(plugin)
    if name in MIRRORS:
        return [*COMMON_OF_MIRRORS, *OF_MIRRORS]
    java = JAVA_NAMES.get(name)
    kind = kind_named(name if java is None else java.kind)
    is_source = kind.direction == "source"
    own = settings_of(kind.make, kind.name)
    if java is not None:  # its own names are those that its documentation has
        own = [each for each in own if not each.required]
    known = {each.name for each in own}
    other = kind_named(WRITE_TOPICS if is_source else READ_TOPICS)
    of_other = settings_of(other.make, other.name, "sink." if is_source else "source.")
    of_other = [each for each in of_other if not each.required]
    shared = [*COMMON, *(OF_SOURCES if is_source else OF_SINKS), *OF_BOTH]
    return [*(each for each in shared if each.name not in known), *own, *of_other]


def validated(plugin: str, config: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """What `PUT /connector-plugins/NAME/config/validate` answers."""
    return with_errors(plugin, config, check_config(config, folder).found)


def with_errors(
    plugin: str, config: Mapping[str, str], errors: dict[str, list[str]]
) -> dict[str, Any]:
    """The same, with errors that were found already."""
    known = definitions(plugin)
    if not config.get("name"):
        errors.setdefault("name", []).append(
            "Missing required setting 'name', which has no default value"
        )
    names = {each.name for each in known}
    further = [
        Setting(name, "PASSWORD" if is_secret(name) else "STRING", group="Other")
        for name in (*config, *errors)
        if name not in names
    ]
    described = [*known, *{each.name: each for each in further}.values()]
    return {
        "name": plugin,
        "error_count": sum(1 for each in errors.values() if each),
        "groups": list(dict.fromkeys(each.group for each in described)),
        "configs": [
            {
                "definition": describe(each, order),
                "value": _value(each, config, errors.get(each.name, [])),
            }
            for order, each in enumerate(described)
        ],
    }


def describe(setting: Setting, order: int) -> dict[str, Any]:
    """A setting as Kafka Connect describes one."""
    return {
        "name": setting.name,
        "type": setting.type,
        "required": setting.required,
        "default_value": setting.default,
        "importance": setting.importance,
        "documentation": setting.documentation,
        "group": setting.group,
        "width": "MEDIUM",
        "display_name": setting.name,
        "dependents": [],
        "order": order,
    }


def _value(setting: Setting, config: Mapping[str, str], errors: Iterable[str]) -> dict[str, Any]:
    given = config.get(setting.name)
    shown = given if given is None else without_password(given)
    if given is not None and setting.type == "PASSWORD":
        shown = "[hidden]"
    return {
        "name": setting.name,
        "value": setting.default if shown is None else shown,
        "recommended_values": list(setting.recommended),
        "errors": list(errors),
        "visible": True,
    }


def _full_name(plugin: str) -> str:
    """Kafka Connect also takes the last part of a class name, with or without `Connector`."""
    for name in (*JAVA_NAMES, *MIRRORS):
        last = name.rpartition(".")[2]
        if plugin in (name, last, last.removesuffix("Connector")):
            return name
    if plugin in kinds():
        return plugin
    raise InvalidArgument(f"Unknown connector plugin {plugin!r}")
