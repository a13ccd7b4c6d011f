"""The topic name and id of the metadata log in messages."""

from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.wire.messages.fetch import FetchRequest

METADATA_TOPIC_ID = (1).to_bytes(16, "big")
"""Kafka's id, the same in every cluster."""
METADATA_PARTITION = 0


def is_metadata_fetch(request: FetchRequest) -> bool:
    """Whether a replica of the quorum fetches the metadata log; such a fetch has no other topic."""
    return any(
        topic.topic_id == METADATA_TOPIC_ID or topic.topic == CLUSTER_METADATA
        for topic in request.topics
    )
