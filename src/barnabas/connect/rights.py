"""The rights that the service for connectors needs, and those of its connectors.

A connector acts as the user of the service, unless its settings sign in as another one. Mirrors
have two clusters, and check their rights themselves.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.rights.check import denial_of
from barnabas.client.rights.right import Right, created_topic, group, topic, transactional_id
from barnabas.connect.settings import ServiceSettings
from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.connectors.pipeline_files import created_topics
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.operations.rights import rights_of
from barnabas.wire.acl_codes import AclOperation

_CREATES = "topic.creation.enable"
_OVERRIDES = ("consumer.override.", "producer.override.")
_OF_SIGN_IN = ("security.", "sasl.", "ssl.")
_CHECK_MS = 10_000
_log = logging.getLogger("barnabas.connect")


def service_rights(group_name: str, configs_topic: str, status_topic: str) -> Iterator[Right]:
    """Of the service itself."""
    for name in (configs_topic, status_topic):
        what = "connectors and their states"
        yield topic(AclOperation.READ, name, what)
        yield topic(AclOperation.WRITE, name, what)
        yield topic(AclOperation.DESCRIBE_CONFIGS, name, what)
        yield created_topic(name, what)
    yield transactional_id(f"{group_name}-leader", "leading the service")
    yield group("warm-up", "a first query of each Spark driver")._replace(is_optional=True)


def connector_rights(
    config: Mapping[str, str], pipelines: Iterable[Pipeline], folder: Path
) -> list[Right]:
    """Of a connector with these pipelines, as far as its settings tell."""
    found, written = [], [*created_topics(config, folder)]
    for each in pipelines:
        found += rights_of(each)
        written += each.written_topics
    if config.get(_CREATES, "true").lower() == "true":
        what = f"output of connector {config.get('name', 'connector')}"
        found += [created_topic(name, what) for name in dict.fromkeys(written)]
    return found


def signs_in_itself(config: Mapping[str, str]) -> bool:
    """Whether a connector acts as another user than the service."""
    signs_in = tuple(f"{client}{setting}" for client in _OVERRIDES for setting in _OF_SIGN_IN)
    return any(name.startswith(signs_in) for name in config)


async def connector_denial(
    cluster: ClusterAddress, rights: list[Right], name: str
) -> NotAuthorized | None:
    """What a connector lacks, with the commands that grant it."""
    client = ClusterClient(cluster.bootstrap_servers, security=security_settings(cluster.security))
    async with client:
        return await denial_of(client, rights, f"connector {name}")


async def check_service_rights(settings: ServiceSettings) -> None:
    """Raise the error that names what is missing. Brokers may answer later."""
    if not settings.security:
        return
    rights = list(service_rights(settings.group, settings.configs_topic, settings.status_topic))
    client = ClusterClient(
        settings.bootstrap,
        security=security_settings(settings.security),
        retry_timeout_ms=_CHECK_MS,
    )
    denied: NotAuthorized | None = None
    try:
        async with client:
            denied = await denial_of(client, rights, f"the service {settings.group}")
    except BarnabasError as error:
        _log.debug("the rights of the service were not checked: %s", error)
    if denied is not None:
        raise denied
