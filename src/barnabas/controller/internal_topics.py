"""The internal topics that brokers create, as the settings define them.

A request that gives only the name of an internal topic creates it: any broker that needs it sends
one. Requests can't choose partitions or configs, because the coordinator of a group or transaction
depends on them.
"""

from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)


def asks_for_internal(request: CreateTopicsRequest) -> bool:
    """Whether the request is for one internal topic, and gives nothing but its name."""
    return len(request.topics) == 1 and all(
        topic.name in INTERNAL_TOPICS
        and topic.num_partitions == -1
        and topic.replication_factor == -1
        and not topic.configs
        and not topic.assignments
        for topic in request.topics
    )


def internal_request(
    request: CreateTopicsRequest, settings: ClusterSettings
) -> CreateTopicsRequest:
    """The request with the partitions and configs of the settings."""
    (asked,) = request.topics
    internal = settings.internal_topic(asked.name)
    configs = [
        CreatableTopicConfig("cleanup.policy", "compact" if internal.is_compacted else "delete"),
        CreatableTopicConfig("segment.bytes", str(internal.segment_bytes)),
    ]
    if not internal.is_compacted:
        configs.append(CreatableTopicConfig("retention.ms", "-1"))
        configs.append(CreatableTopicConfig("retention.bytes", "-1"))
    if internal.min_insync_replicas is not None:
        configs.append(
            CreatableTopicConfig("min.insync.replicas", str(internal.min_insync_replicas))
        )
    topic = CreatableTopic(
        asked.name, internal.num_partitions, internal.replication_factor, configs=configs
    )
    return CreateTopicsRequest([topic], request.timeout_ms, request.validate_only)
