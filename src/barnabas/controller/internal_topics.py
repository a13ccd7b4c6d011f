"""The topics that brokers create for themselves, as the settings want them.

A CreateTopics request that gives only the name creates one. Partitions and settings can't be
chosen:
where groups and transactions live depends on them.
"""

from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.metadata.image import CONSUMER_OFFSETS, TRANSACTION_STATE
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

_INTERNAL = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})


def asks_for_internal(request: CreateTopicsRequest) -> bool:
    """Whether the request is for one such topic, and leaves it to us what it is like."""
    return len(request.topics) == 1 and all(
        topic.name in _INTERNAL
        and topic.num_partitions == -1
        and topic.replication_factor == -1
        and not topic.configs
        and not topic.assignments
        for topic in request.topics
    )


def internal_request(
    request: CreateTopicsRequest, settings: ClusterSettings
) -> CreateTopicsRequest:
    """The request with all that the settings say."""
    (asked,) = request.topics
    internal = settings.internal_topic(asked.name)
    topic = CreatableTopic(
        asked.name,
        internal.num_partitions,
        internal.replication_factor,
        configs=[
            CreatableTopicConfig("cleanup.policy", "compact"),
            CreatableTopicConfig("segment.bytes", str(internal.segment_bytes)),
        ],
    )
    return CreateTopicsRequest([topic], request.timeout_ms, request.validate_only)
