"""Topics that stand beside a topic and are as safe as it: TOPIC.delayed, TOPIC.results, the topics
of its retries and of its dead letters."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata
from barnabas.errors import NotAuthorized, TopicExists
from barnabas.wire.errors import ErrorCode

_log = logging.getLogger("barnabas.client")
_LIMIT = "max.message.bytes"
_INHERITED = ("min.insync.replicas", _LIMIT)
"""As safe as the topic, and with room for what it has room for."""
HEADER_BYTES = 64 * 1024
"""Room for the headers that are added to a record of the topic, however large it is."""


async def ensure_companion(
    cluster: ClusterClient,
    topic: str,
    name: str,
    *,
    partitions: Callable[[TopicMetadata], int],
    configs: Mapping[str, str],
    needs: str,
    header_bytes: int = 0,
) -> TopicMetadata | None:
    """Create the companion of a topic; what there is already is returned.

    A broker may create the topic itself first, as for any record that is sent. `header_bytes` are
    added to what a record may have.
    """
    source = await cluster.retrying(lambda: cluster.topic(topic, auto_create=True))

    async def look() -> TopicMetadata | None:
        found = (await cluster.refresh([name]))[name]
        if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        check(found.error_code, f"topic {name}", needs=needs)
        return found

    found = await cluster.retrying(look)  # it may have no leader yet
    if found is not None:
        return found
    with suppress(TopicExists):  # another client was faster
        await create_topic(
            cluster,
            name,
            partitions=partitions(source),
            replication_factor=min(len(each.replicas) for each in source.partitions),
            configs={**configs, **await _inherited(cluster, topic, name, header_bytes)},
        )
    return None


async def _inherited(
    cluster: ClusterClient, topic: str, name: str, header_bytes: int
) -> dict[str, str]:
    refused: dict[str, NotAuthorized] = {}
    described = await describe_configs(
        cluster, ResourceType.TOPIC, [topic], keys=_INHERITED, refused=refused
    )
    for error in refused.values():
        names = " and ".join(_INHERITED)
        _log.warning("%s is created without %s of %s: %s", name, names, topic, error)
    found: dict[str, str] = {}
    for each in described.get(topic, ()):
        if each.value is None:
            continue
        if each.name == _LIMIT and header_bytes:
            found[each.name] = str(int(each.value) + header_bytes)
        elif each.is_own:
            found[each.name] = each.value
    return found
