"""Selects the preferred read replica of a consumer."""

from barnabas.broker.fetch.fetch_entry import NO_REPLICA
from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import MetadataImage


def preferred_read_replica(
    partition: Partition, image: MetadataImage, offset: int, rack: str
) -> int:
    """An in-sync follower on the consumer's rack that has `offset`; -1 to read from this leader.

    Of several, the one with the largest log end offset.
    """
    if partition.leading is None:
        return NO_REPLICA
    brokers = image.brokers
    near = [
        (log_end_offset, -node_id)
        for node_id, log_end_offset in partition.leading.replicas_with(offset)
        if node_id in brokers and brokers[node_id].rack == rack and brokers[node_id].is_active
    ]
    return -max(near)[1] if near else NO_REPLICA
