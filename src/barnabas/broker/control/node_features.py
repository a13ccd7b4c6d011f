"""Asks all nodes which levels of features they support, before one is raised."""

from asyncio import gather
from collections.abc import Callable, Iterable

from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.runtime.peer_versions import versions_question
from barnabas.controller.features.node_features import AllFeatures, NodeFeatures, epoch_of
from barnabas.metadata.features import BEFORE_FEATURES, FeatureRange, FeatureRanges
from barnabas.metadata.image import MetadataImage

_LANE = "features"
_TIMEOUT_MS = 1_500


class FeaturesOfNodes:
    def __init__(
        self,
        node_id: int,
        own: FeatureRanges,
        peers: Peers,
        image: MetadataImage,
        voters: Callable[[], Iterable[int]],
    ) -> None:
        self._node_id = node_id
        self._own = own
        self._peers = peers
        self._image = image
        self._voters = voters

    async def ask(self) -> AllFeatures:
        """What brokers and voters support, and the registrations under which they were asked."""
        nodes = sorted({*self._image.brokers, *self._voters(), self._node_id})
        epochs = [epoch_of(self._image, node_id) for node_id in nodes]
        found = await gather(*map(self._ask, nodes))
        return {
            node_id: NodeFeatures(ranges, epoch)
            for node_id, ranges, epoch in zip(nodes, found, epochs, strict=True)
        }

    async def _ask(self, node_id: int) -> FeatureRanges | None:
        if node_id == self._node_id:
            return self._own
        question = versions_question()
        try:
            answer = await self._peers.call(
                node_id, question, question.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=_LANE
            )
        except PeerUnavailable:
            return None
        return {
            **BEFORE_FEATURES,
            **{
                each.name: FeatureRange(each.min_version, each.max_version)
                for each in answer.supported_features
            },
        }
