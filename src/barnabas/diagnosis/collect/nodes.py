"""What single nodes tell of themselves."""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import replace

from barnabas.client.admin.configs import ConfigEntry, ConfigSource, ResourceType, describe_configs
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.diagnosis.facts import NodeFacts
from barnabas.diagnosis.node_metrics import (
    SETTING,
    NodeMetrics,
    scrape,
    scrape_address,
    why_unreachable,
)
from barnabas.errors import BarnabasError, NotAuthorized
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
    entries: list[ConfigEntry] = []
    denied = why = metrics = None
    try:
        described = await describe_configs(cluster, ResourceType.BROKER, [str(node_id)])
        entries = described.get(str(node_id), [])
        metrics, why = await _metrics(cluster.brokers[node_id].address, entries)
    except NotAuthorized as error:
        denied = str(error)
    except BarnabasError:  # it is down by now
        pass
    facts = facts_of(
        node_id,
        entries,
        {each.api_key: (each.min_version, each.max_version) for each in versions.api_keys},
        expires_ms,
        metrics,
    )
    return replace(facts, denied=denied, no_metrics=why)


async def _metrics(
    address: Address, entries: list[ConfigEntry]
) -> tuple[NodeMetrics | None, str | None]:
    """The metrics, or why there are none."""
    for entry in entries:
        if entry.name == SETTING:
            where = scrape_address(address, entry.value)
            metrics = None if where is None else await scrape(where)
            return metrics, None if metrics else why_unreachable(entry.value, where)
    return None, f"they have no setting {SETTING}, as nodes of Barnabas do"


def why_no_metrics(nodes: Iterable[NodeFacts]) -> str | None:
    """Which nodes have none that can be reached from here, and what to do about it."""
    by_reason: dict[str, list[str]] = {}
    for each in nodes:
        if each.no_metrics is not None:
            by_reason.setdefault(each.no_metrics, []).append(str(each.node_id))
    parts = [
        f"node{'s' * (len(named) > 1)} {', '.join(named)}: {why}"
        for why, named in by_reason.items()
    ]
    return "; ".join(parts) or None


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
