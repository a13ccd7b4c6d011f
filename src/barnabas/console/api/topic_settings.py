"""Settings of one topic, with defaults and explanations."""

from http import HTTPStatus
from typing import Any

from barnabas.client.admin.configs import (
    ConfigEntry,
    ConfigSource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import TOPIC
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.metadata.config_values import ConfigDef
from barnabas.metadata.topic_configs import TOPIC_CONFIGS

SETTINGS = Parameter(
    "settings", "object", "New values as text by name; null restores the default.", required=True
)


async def topic_settings(call: Call) -> dict[str, Any]:
    topic = call.text("topic")
    entries = await describe_configs(call.cluster.client, ResourceType.TOPIC, [topic])
    return {"settings": [entry_of(each, TOPIC_CONFIGS.get(each.name)) for each in entries[topic]]}


async def change_topic_settings(call: Call) -> dict[str, Any]:
    changes = checked_settings(call)
    await alter_configs(
        call.cluster.client,
        ResourceType.TOPIC,
        call.text("topic"),
        settings={name: value for name, value in changes.items() if value is not None},
        deletions=[name for name, value in changes.items() if value is None],
    )
    return {"changed": sorted(changes)}


def checked_settings(call: Call) -> dict[str, str | None]:
    """The settings of a body; raises `ApiError`."""
    settings = call.given("settings")
    if not settings or not all(isinstance(each, str | None) for each in settings.values()):
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "settings: expected text or null for at least one setting"
        )
    return dict(settings)


def entry_of(entry: ConfigEntry, known: ConfigDef | None) -> dict[str, Any]:
    """A setting for the page."""
    return {
        "name": entry.name,
        "value": entry.value,
        "source": _SOURCES.get(entry.source, "unknown"),
        "own": entry.source in (ConfigSource.TOPIC, ConfigSource.DYNAMIC_BROKER),
        "read_only": entry.read_only,
        "sensitive": entry.sensitive,
        "explanation": "" if known is None else known.doc,
        "default": None if known is None else known.default,
        "choices": [] if known is None else list(known.choices),
    }


_SOURCES = {
    ConfigSource.TOPIC: "this topic",
    ConfigSource.DYNAMIC_BROKER: "this node, changed",
    ConfigSource.DYNAMIC_DEFAULT_BROKER: "all nodes, changed",
    ConfigSource.STATIC_BROKER: "configuration file",
    ConfigSource.DEFAULT: "default",
}

ENDPOINTS = (
    Endpoint(
        "GET", "/api/topics/{topic}/settings", "Settings of a topic.", topic_settings, (TOPIC,)
    ),
    Endpoint(
        "PUT",
        "/api/topics/{topic}/settings",
        "Change settings of a topic.",
        change_topic_settings,
        (TOPIC,),
        (SETTINGS,),
        changes=True,
    ),
)
