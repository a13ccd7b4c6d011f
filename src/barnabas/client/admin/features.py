"""Levels of features of a cluster: which are in force, which each node supports, raising one."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas import __version__
from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

METADATA_VERSION: Final = "metadata.version"
_QUESTION = ApiVersionsRequest("barnabas-features", __version__)


class SupportedLevels(NamedTuple):
    oldest: int
    newest: int

    def __str__(self) -> str:
        return str(self.oldest) if self.oldest == self.newest else f"{self.oldest}-{self.newest}"


@dataclass(frozen=True, slots=True)
class ClusterFeatures:
    levels: Mapping[str, int]
    """Those in force, as the controller knows them."""
    nodes: Mapping[int, Mapping[str, SupportedLevels] | None]
    """What each broker supports; None if it does not answer."""

    def supported_by_all(self, name: str) -> SupportedLevels | None:
        """The levels that every node supports; None if there are none, or a node is missing."""
        if not self.nodes or any(each is None or name not in each for each in self.nodes.values()):
            return None
        ranges = [each[name] for each in self.nodes.values() if each is not None]
        oldest, newest = max(r.oldest for r in ranges), min(r.newest for r in ranges)
        return SupportedLevels(oldest, newest) if oldest <= newest else None


async def describe_features(cluster: ClusterClient) -> ClusterFeatures:
    """Ask the controller and all brokers."""

    async def attempt() -> ApiVersionsResponse:
        connection = await cluster.controller()
        return await connection.send(_QUESTION, timeout_ms=cluster.request_timeout_ms)

    description = await describe_cluster(cluster)
    in_force = await cluster.retrying(attempt)
    brokers = [broker.node_id for broker in description.brokers]
    answers = await asyncio.gather(*(_ask(cluster, node_id) for node_id in brokers))
    return ClusterFeatures(
        {each.name: each.max_version_level for each in in_force.finalized_features},
        dict(zip(brokers, answers, strict=True)),
    )


async def _ask(cluster: ClusterClient, node_id: int) -> dict[str, SupportedLevels] | None:
    try:
        connection = await cluster.connection(node_id)
        answer = await connection.send(_QUESTION, timeout_ms=cluster.request_timeout_ms)
    except BarnabasError:
        return None
    return {
        each.name: SupportedLevels(each.min_version, each.max_version)
        for each in answer.supported_features
    }


async def raise_feature(
    cluster: ClusterClient, name: str, level: int, *, validate_only: bool = False
) -> None:
    """Raise a feature to a level that all nodes support, for good."""
    request = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(name, level)], validate_only=validate_only
    )

    async def attempt() -> None:
        connection = await cluster.controller()
        response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
        check(response.error_code, f"{name} {level}", response.error_message, needs="alter")
        for result in response.results:
            check(result.error_code, f"{name} {level}", result.error_message, needs="alter")

    await cluster.retrying(attempt)
