"""Configurations of topics, brokers and groups."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias, overload

from barnabas.client.admin.batches import in_batches
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, InvalidArgument, NotAuthorized
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest

ConfigValue: TypeAlias = str | int | float | bool
"""What a configuration may be given as; brokers only know text."""

ALL_BROKERS = ""
"""The name that stands for the defaults of all brokers."""

_AT_ONCE = 1_000
_SET = 0
_DELETE = 1


class ResourceType(IntEnum):
    """What has a configuration."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @property
    def is_of_broker(self) -> bool:
        """Whether the broker that it names has it, and no other."""
        return self in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


class ConfigSource(IntEnum):
    """Where a value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigEntry(NamedTuple):
    """One setting; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool

    @property
    def is_own(self) -> bool:
        """Whether it was set for this topic, broker or group, and not inherited."""
        return self.source in (
            ConfigSource.TOPIC,
            ConfigSource.DYNAMIC_BROKER,
            ConfigSource.DYNAMIC_DEFAULT_BROKER,
            ConfigSource.STATIC_BROKER,
            ConfigSource.DYNAMIC_BROKER_LOGGER,
            ConfigSource.CLIENT_METRICS,
            ConfigSource.GROUP,
        )


def resource_of(
    topic: str | None, broker: int | None, group: str | None = None
) -> tuple[ResourceType, str]:
    """What is meant by arguments of which only one may be given."""
    named = (
        (ResourceType.TOPIC, topic),
        (ResourceType.BROKER, None if broker is None else str(broker)),
        (ResourceType.GROUP, group),
    )
    given = [(kind, name) for kind, name in named if name is not None]
    if len(given) != 1:
        raise InvalidArgument("say whose configurations: topic=NAME, broker=NUMBER or group=NAME")
    return given[0]


@overload
def settings_of(settings: Mapping[str, ConfigValue]) -> dict[str, str]: ...
@overload
def settings_of(settings: Mapping[str, ConfigValue | None]) -> dict[str, str | None]: ...
def settings_of(settings: Mapping[str, ConfigValue | None]) -> Mapping[str, str | None]:
    """Settings as text; None stays None."""

    def text_of(value: ConfigValue) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {name: None if value is None else text_of(value) for name, value in settings.items()}


async def describe_configs(
    cluster: ClusterClient,
    resource_type: ResourceType,
    names: Iterable[str],
    *,
    keys: Sequence[str] | None = None,
    refused: dict[str, NotAuthorized] | None = None,
) -> dict[str, list[ConfigEntry]]:
    """Configurations of topics, brokers or groups, by name: all, or those of some keys.

    Those that may not be read are left out and added to `refused`, if that is given.
    """
    described: dict[str, list[ConfigEntry]] = {}

    async def describe(connection: BrokerConnection, some: Iterable[str]) -> None:
        for name, found in await _describe(
            connection, resource_type, some, keys, cluster.request_timeout_ms
        ):
            if not isinstance(found, BrokerError):
                described[name] = found
            elif refused is not None and isinstance(found, NotAuthorized):
                refused[name] = found
            else:
                raise found

    async def attempt() -> None:
        if not resource_type.is_of_broker:
            connection = await cluster.any_connection()
            for some in in_batches(names, _AT_ONCE):
                await describe(connection, some)
        else:
            for name in names:
                connection = await _broker(cluster, name)
                await describe(connection, [name])

    await cluster.retrying(attempt)
    return described


async def list_config_resources(cluster: ClusterClient, resource_type: ResourceType) -> list[str]:
    """The names of all resources of a type that have configurations."""

    async def attempt() -> list[str]:
        connection = await cluster.any_connection()
        request = ListConfigResourcesRequest([resource_type])
        response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
        check(
            response.error_code,
            f"resources of type {resource_type.label}",
            needs="describe_configs",
        )
        return sorted(each.resource_name for each in response.config_resources)

    return await cluster.retrying(attempt)


async def alter_configs(
    cluster: ClusterClient,
    resource_type: ResourceType,
    name: str,
    *,
    settings: Mapping[str, str] | None = None,
    deletions: Iterable[str] = (),
) -> None:
    """Change some configurations and leave the others alone."""
    configs = [AlterableConfig(key, _SET, value) for key, value in (settings or {}).items()]
    configs += [AlterableConfig(key, _DELETE, None) for key in deletions]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type, name, configs)]
    )

    async def attempt() -> None:
        if resource_type.is_of_broker:
            connection = await _broker(cluster, name)
        else:
            connection = await cluster.controller()
        response = await connection.send(request)
        for result in response.responses:
            what = f"{resource_type.label} {result.resource_name}"
            check(result.error_code, what, result.error_message, needs="alter_configs")

    await cluster.retrying(attempt)


async def alter_what_is_known(
    cluster: ClusterClient, resource_type: ResourceType, name: str, settings: Mapping[str, str]
) -> dict[str, str]:
    """Set all; if that is refused, one by one. Returns what was refused, and why."""
    if not settings:
        return {}
    try:
        await alter_configs(cluster, resource_type, name, settings=settings)
    except (BrokerError, InvalidArgument) as error:
        if error.retriable:
            raise
    else:
        return {}
    refused = {}
    for key, value in settings.items():
        try:
            await alter_configs(cluster, resource_type, name, settings={key: value})
        except (BrokerError, InvalidArgument) as error:
            if error.retriable:
                raise
            refused[key] = str(error)
    return refused


async def _broker(cluster: ClusterClient, name: str) -> BrokerConnection:
    if name == ALL_BROKERS:
        return await cluster.controller()
    if not name.isdecimal() or int(name) not in cluster.brokers:
        known = ", ".join(str(node_id) for node_id in sorted(cluster.brokers))
        raise InvalidArgument(f"there is no broker {name!r}: the cluster has {known}")
    return await cluster.connection(int(name))


async def _describe(
    connection: BrokerConnection,
    resource_type: ResourceType,
    names: Iterable[str],
    keys: Sequence[str] | None,
    timeout_ms: int,
) -> list[tuple[str, list[ConfigEntry] | BrokerError]]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type, name, None if keys is None else list(keys))
            for name in names
        ]
    )
    response = await connection.send(request, timeout_ms=timeout_ms)
    found: list[tuple[str, list[ConfigEntry] | BrokerError]] = []
    for result in response.results:
        name = result.resource_name
        if result.error_code:
            what = f"{resource_type.label} {name}"
            found.append(
                (
                    name,
                    broker_error(
                        result.error_code, what, result.error_message, needs="describe_configs"
                    ),
                )
            )
            continue
        entries = (
            ConfigEntry(
                config.name,
                config.value,
                _source_of(config.config_source),
                config.read_only,
                config.is_sensitive,
            )
            for config in result.configs
        )
        found.append((name, sorted(entries)))
    return found


def _source_of(source: int) -> ConfigSource:
    try:
        return ConfigSource(source)
    except ValueError:
        return ConfigSource.UNKNOWN
