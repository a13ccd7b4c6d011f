"""Which replica a consumer had better read from."""

from barnabas.broker.fetch_entry import NO_REPLICA
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition

_LEADER_SELECTOR = "LeaderSelector"


def closest_replica(node: Node, partition: Partition, offset: int, rack: str) -> int:
    """An in-sync follower on the consumer's rack that has `offset`; -1: this leader is as good.

    Of several, the one that is furthest.
    """
    selector = node.config.text("replica.selector.class") or ""
    if partition.leading is None or node.rack == rack or selector.endswith(_LEADER_SELECTOR):
        return NO_REPLICA
    brokers = node.image.brokers
    near = [
        (log_end_offset, -node_id)
        for node_id, log_end_offset in partition.leading.replicas_with(offset)
        if node_id in brokers and brokers[node_id].rack == rack and brokers[node_id].is_active
    ]
    return -max(near)[1] if near else NO_REPLICA
