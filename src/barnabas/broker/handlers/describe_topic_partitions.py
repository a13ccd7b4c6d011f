"""DescribeTopicPartitions, version 0: topics page by page, in the order of their names.

Needs DESCRIBE on each topic. Who asks for all gets those that it may describe.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices, split
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

_MAX_PARTITIONS = 2000


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    image: MetadataImage


def handle(
    node: Needs, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> Slices[DescribeTopicPartitionsResponse]:
    access = node.authorization.of(context.connection, "DescribeTopicPartitions")
    asked = {topic.name for topic in request.topics}
    names = sorted(asked or node.image.topics)
    if not asked and not access.is_full:
        names, _ = yield from split(
            names, lambda name: access.topic(AclOperation.DESCRIBE, name, log=False)
        )
    first_partition = 0
    cursor = request.cursor
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
        if names and names[0] == cursor.topic_name:
            first_partition = max(0, cursor.partition_index)
    response = DescribeTopicPartitionsResponse()
    slicer = Slicer(context.version)
    left = min(max(1, request.response_partition_limit), _MAX_PARTITIONS)
    for name in names:
        if slicer.is_due(2):
            yield
        if asked and not access.topic(AclOperation.DESCRIBE, name):
            denied = DescribeTopicPartitionsResponseTopic(
                ErrorCode.TOPIC_AUTHORIZATION_FAILED, name
            )
            response.topics.append(slicer.part(denied))
            continue
        topic = node.image.topics.get(name)
        if topic is None:
            unknown = DescribeTopicPartitionsResponseTopic(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name
            )
            response.topics.append(slicer.part(unknown))
            continue
        if left == 0:
            response.next_cursor = Cursor(name, first_partition)
            break
        shown = topic.partitions[first_partition : first_partition + left]
        response.topics.append(_topic(topic, shown, access))
        left -= len(shown)
        if first_partition + len(shown) < len(topic.partitions):
            response.next_cursor = Cursor(name, first_partition + len(shown))
            break
        first_partition = 0
    return response


def _topic(
    topic: TopicImage, partitions: list[PartitionImage], access: RequestAccess
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=partition.isr,
                eligible_leader_replicas=partition.elr,
                last_known_elr=partition.last_known_elr,
            )
            for partition in partitions
        ],
        topic_authorized_operations=access.operations(ResourceType.TOPIC, topic.name),
    )
