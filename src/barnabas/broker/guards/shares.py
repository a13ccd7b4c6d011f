"""Guards of records and offsets of share groups.

ShareFetch and ShareAcknowledge check topics in their handlers, because a session remembers them.
"""

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    GROUP_DENIED,
    MESSAGES,
    TOPIC_DENIED,
    Needs,
    Part,
    Verdict,
    refusing,
    refusing_topics,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices, split
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.messages import alter_share_group_offsets as alter_messages
from barnabas.wire.messages import delete_share_group_offsets as delete_messages
from barnabas.wire.messages import describe_share_group_offsets as describe_messages
from barnabas.wire.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from barnabas.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse


def fetch(
    _: Needs, request: ShareFetchRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """READ on the group; the handler looks at the topics."""
    if access.group(AclOperation.READ, request.group_id or ""):
        return None
    return ShareFetchResponse(error_code=GROUP_DENIED, error_message=MESSAGES[GROUP_DENIED])


def acknowledge(
    _: Needs, request: ShareAcknowledgeRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """READ on the group; the handler looks at the topics."""
    if access.group(AclOperation.READ, request.group_id or ""):
        return None
    return ShareAcknowledgeResponse(error_code=GROUP_DENIED, error_message=MESSAGES[GROUP_DENIED])


def describe_offsets(
    _: Needs,
    request: describe_messages.DescribeShareGroupOffsetsRequest,
    access: RequestAccess,
    context: RequestContext,
) -> Slices[Verdict]:
    """DESCRIBE on each group; the handler looks at the topics."""
    request.groups, denied = yield from split(
        request.groups, lambda group: access.group(AclOperation.DESCRIBE, group.group_id)
    )
    if not denied:
        return None

    finish = refusing(
        "groups",
        denied,
        lambda group: describe_messages.DescribeShareGroupOffsetsResponseGroup(
            group.group_id, error_code=GROUP_DENIED, error_message=MESSAGES[GROUP_DENIED]
        ),
        context,
    )
    return Part(request, finish)


def alter_offsets(
    _: Needs,
    request: alter_messages.AlterShareGroupOffsetsRequest,
    access: RequestAccess,
    context: RequestContext,
) -> Slices[Verdict]:
    """READ on the group, and on each topic."""
    if not access.group(AclOperation.READ, request.group_id):
        return alter_messages.AlterShareGroupOffsetsResponse(
            error_code=GROUP_DENIED, error_message=MESSAGES[GROUP_DENIED]
        )
    request.topics, denied = yield from split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.topic_name)
    )
    if not denied:
        return None

    finish = refusing_topics(
        "responses",
        denied,
        lambda topic: topic.partitions,
        lambda asked: alter_messages.AlterShareGroupOffsetsResponsePartition(
            asked.partition_index, TOPIC_DENIED, MESSAGES[TOPIC_DENIED]
        ),
        lambda topic, refused: alter_messages.AlterShareGroupOffsetsResponseTopic(
            topic.topic_name, partitions=refused
        ),
        context,
    )
    return Part(request, finish)


def delete_offsets(
    _: Needs,
    request: delete_messages.DeleteShareGroupOffsetsRequest,
    access: RequestAccess,
    context: RequestContext,
) -> Slices[Verdict]:
    """DELETE on the group, and READ on each topic."""
    if not access.group(AclOperation.DELETE, request.group_id):
        return delete_messages.DeleteShareGroupOffsetsResponse(
            error_code=GROUP_DENIED, error_message=MESSAGES[GROUP_DENIED]
        )
    request.topics, denied = yield from split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.topic_name)
    )
    if not denied:
        return None

    finish = refusing(
        "responses",
        denied,
        lambda topic: delete_messages.DeleteShareGroupOffsetsResponseTopic(
            topic.topic_name, error_code=TOPIC_DENIED, error_message=MESSAGES[TOPIC_DENIED]
        ),
        context,
    )
    return Part(request, finish)
