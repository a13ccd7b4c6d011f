"""The topics that brokers make for themselves, as the settings want them.

Whoever asks for one by its name alone gets it: a broker that needs it, on whatever node. Nobody
gets to say what it is like, because where groups and
transactions live depends on it.
"""

from barnabas.controller.configs import BrokerSettings
from barnabas.metadata.image import CONSUMER_OFFSETS, TRANSACTION_STATE, MetadataImage
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

_SETTINGS = {
    CONSUMER_OFFSETS: "offsets.topic",
    TRANSACTION_STATE: "transaction.state.log",
}
"""What the names of each topic's settings begin with."""


def asks_for_internal(request: CreateTopicsRequest) -> bool:
    """Whether the request is for one such topic, and leaves it to us what it is like."""
    return len(request.topics) == 1 and all(
        topic.name in _SETTINGS
        and topic.num_partitions == -1
        and topic.replication_factor == -1
        and not topic.configs
        and not topic.assignments
        for topic in request.topics
    )


def internal_request(
    request: CreateTopicsRequest, image: MetadataImage, settings: BrokerSettings
) -> CreateTopicsRequest:
    """The request with all that the settings say."""
    (asked,) = request.topics
    prefix = _SETTINGS[asked.name]
    segment_bytes = settings.number(image, f"{prefix}.segment.bytes")
    topic = CreatableTopic(
        asked.name,
        settings.number(image, f"{prefix}.num.partitions"),
        settings.number(image, f"{prefix}.replication.factor"),
        configs=[
            CreatableTopicConfig("cleanup.policy", "compact"),
            CreatableTopicConfig("segment.bytes", str(segment_bytes)),
        ],
    )
    return CreateTopicsRequest([topic], request.timeout_ms, request.validate_only)
