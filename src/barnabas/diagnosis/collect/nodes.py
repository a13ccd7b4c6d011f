"""What single nodes tell of themselves."""

import asyncio
import ssl

from barnabas.client.admin.configs import ConfigEntry, ConfigSource, ResourceType, describe_configs
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.diagnosis.facts import NodeFacts
from barnabas.diagnosis.node_metrics import SETTING, NodeMetrics, scrape, scrape_address
from barnabas.errors import BarnabasError
from barnabas.wire.endpoint import Address
from barnabas.wire.messages.api_versions import ApiVersionsRequest

_TIME = "barnabas_time_seconds"


async def node_facts(cluster: ClusterClient) -> list[NodeFacts]:
    """Those of all nodes that answer, in order."""
    nodes = sorted(cluster.brokers)
    answers = await asyncio.gather(*(_ask(cluster, node_id) for node_id in nodes))
    return [each for each in answers if each is not None]


async def _ask(cluster: ClusterClient, node_id: int) -> NodeFacts | None:
    try:
        connection = await cluster.connection(node_id)
        expires_ms = _certificate_expiry_ms(connection)
        versions = await connection.send(
            ApiVersionsRequest(client_software_name="barnabas-doctor", client_software_version="1"),
            timeout_ms=cluster.request_timeout_ms,
        )
    except BarnabasError:
        return None
    try:
        described = await describe_configs(cluster, ResourceType.BROKER, [str(node_id)])
        entries = described.get(str(node_id), [])
    except BarnabasError:  # not allowed to see them
        entries = []
    address = cluster.brokers[node_id].address
    return facts_of(
        node_id,
        entries,
        {each.api_key: (each.min_version, each.max_version) for each in versions.api_keys},
        expires_ms,
        await _metrics(address, entries),
    )


async def _metrics(address: Address, entries: list[ConfigEntry]) -> NodeMetrics | None:
    for entry in entries:
        if entry.name == SETTING:
            where = scrape_address(address, entry.value)
            return None if where is None else await scrape(where)
    return None  # a Kafka


def facts_of(
    node_id: int,
    entries: list[ConfigEntry],
    api_versions: dict[int, tuple[int, int]],
    certificate_expires_ms: int | None,
    metrics: NodeMetrics | None,
) -> NodeFacts:
    """Put together what was asked."""
    dynamic = (ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER)
    ahead_ms = error_ms = None
    files = limit = version = None
    if metrics is not None:
        time_s = metrics.value(_TIME)
        if time_s is not None:
            ahead_ms = (time_s - (metrics.asked_s + metrics.answered_s) / 2) * 1000
            error_ms = (metrics.answered_s - metrics.asked_s) * 500
        files, limit = metrics.value("process_open_fds"), metrics.value("process_max_fds")
        version = metrics.label("barnabas_build_info", "version")
    return NodeFacts(
        node_id,
        {entry.name: entry.value for entry in entries},
        frozenset(entry.name for entry in entries if entry.source in dynamic),
        api_versions,
        certificate_expires_ms,
        version,
        ahead_ms,
        error_ms or 0,
        None if files is None else int(files),
        None if limit is None else int(limit),
    )


def _certificate_expiry_ms(connection: BrokerConnection) -> int | None:
    """Of the node, if the connection has TLS and the certificate was verified."""
    session = connection.ssl_object
    certificate = None if session is None else session.getpeercert()
    if not certificate:
        return None
    return int(ssl.cert_time_to_seconds(str(certificate["notAfter"]))) * 1000
