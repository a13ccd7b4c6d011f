"""What the nodes of a cluster support.

Registrations can't tell: those of older releases have no ranges, and a node that only votes has no
registration. So all nodes are asked before a level is raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.metadata.features import FeatureRanges
from barnabas.metadata.image import MetadataImage

NOT_REGISTERED = -1


@dataclass(frozen=True, slots=True)
class NodeFeatures:
    """What one node supports; None if it has not answered."""

    ranges: FeatureRanges | None
    broker_epoch: int = NOT_REGISTERED
    """Its registration when it was asked: since then it may run another release."""


AllFeatures = Mapping[int, NodeFeatures]
"""Those of all brokers and voters, by node."""


def epoch_of(image: MetadataImage, node_id: int) -> int:
    broker = image.brokers.get(node_id)
    return NOT_REGISTERED if broker is None else broker.epoch
