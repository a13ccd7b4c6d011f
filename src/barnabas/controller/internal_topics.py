"""The topics that brokers make for themselves, as the settings want them.

Whoever asks for one by its name alone gets it: a broker that needs it, on whatever node. Nobody
gets to say what it is like, because where groups live depends on it.
"""

from barnabas.controller.configs import BrokerSettings
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)


def asks_for_internal(request: CreateTopicsRequest) -> bool:
    """Whether the request is for the topic of the groups, and leaves it to us what it is like."""
    return [topic.name for topic in request.topics] == [CONSUMER_OFFSETS] and all(
        topic.num_partitions == -1
        and topic.replication_factor == -1
        and not topic.configs
        and not topic.assignments
        for topic in request.topics
    )


def internal_request(
    request: CreateTopicsRequest, image: MetadataImage, settings: BrokerSettings
) -> CreateTopicsRequest:
    """The request with all that the settings say."""
    segment_bytes = settings.number(image, "offsets.topic.segment.bytes")
    topic = CreatableTopic(
        CONSUMER_OFFSETS,
        settings.number(image, "offsets.topic.num.partitions"),
        settings.number(image, "offsets.topic.replication.factor"),
        configs=[
            CreatableTopicConfig("cleanup.policy", "compact"),
            CreatableTopicConfig("segment.bytes", str(segment_bytes)),
        ],
    )
    return CreateTopicsRequest([topic], request.timeout_ms, request.validate_only)
