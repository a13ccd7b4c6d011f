"""OffsetFetch, versions 1-10: one group, or from version 8 on several; from 10 on by topic id.

From version 7 on who asks for stable offsets gets UNSTABLE_OFFSET_COMMIT for partitions of which
a transaction that goes on has committed some.

Needs DESCRIBE on each group and each topic. Who asks for all topics gets those that it may
describe.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.metadata.image import MetadataImage
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_ERROR_FOR_GROUP = 2
_SEVERAL_GROUPS = 8
_BY_ID = 10


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator
    image: MetadataImage


def handle(
    node: Needs, request: OffsetFetchRequest, context: RequestContext
) -> Slices[OffsetFetchResponse]:
    access = node.authorization.of(context.connection, "OffsetFetch")
    if context.version >= _SEVERAL_GROUPS:
        by_id = context.version >= _BY_ID
        groups = yield from Slicer(context.version).each(
            # A group may have many offsets: naming it over and over must not multiply them.
            {group.group_id: group for group in request.groups}.values(),
            lambda group: _fetch(
                node, group, access, by_id=by_id, require_stable=request.require_stable
            ),
            weight=10,
        )
        return OffsetFetchResponse(groups=groups)
    topics = request.topics
    group = OffsetFetchRequestGroup(
        request.group_id,
        topics=(
            None
            if topics is None
            else [
                OffsetFetchRequestTopics(topic.name, partition_indexes=topic.partition_indexes)
                for topic in topics
            ]
        ),
    )
    answer = _fetch(node, group, access, by_id=False, require_stable=request.require_stable)
    if answer.error_code and context.version < _ERROR_FOR_GROUP:
        answer.topics = [
            _failed_topic(topic, ErrorCode(answer.error_code)) for topic in group.topics or ()
        ]
    return _one_group(answer)


def _fetch(
    node: Needs,
    group: OffsetFetchRequestGroup,
    access: RequestAccess,
    *,
    by_id: bool,
    require_stable: bool,
) -> OffsetFetchResponseGroup:
    if not access.group(AclOperation.DESCRIBE, group.group_id):
        return OffsetFetchResponseGroup(
            group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    shard = node.groups.find(group.group_id)
    if isinstance(shard, ErrorCode):
        return OffsetFetchResponseGroup(group.group_id, error_code=shard)
    unknown: list[OffsetFetchRequestTopics] = []
    if by_id and group.topics is not None:
        unknown = _name_topics(node, group)
    denied = [] if access.is_full else _hide_topics(group, access)
    answer = shard.groups.offset_fetch(group, require_stable=require_stable)
    if by_id:
        for topic in answer.topics:
            image = node.image.topics.get(topic.name)
            if image is not None:
                topic.topic_id = image.topic_id
        answer.topics += (_failed_topic(topic, ErrorCode.UNKNOWN_TOPIC_ID) for topic in unknown)
    if group.topics is None and not access.is_full:
        answer.topics = [
            topic
            for topic in answer.topics
            if access.topic(AclOperation.DESCRIBE, topic.name, log=False)
        ]
    answer.topics += (
        _failed_topic(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in denied
    )
    return answer


def _hide_topics(
    group: OffsetFetchRequestGroup, access: RequestAccess
) -> list[OffsetFetchRequestTopics]:
    """Leave out named topics that may not be described; returns them."""
    if group.topics is None:
        return []
    shown: list[OffsetFetchRequestTopics] = []
    denied: list[OffsetFetchRequestTopics] = []
    for topic in group.topics:
        (shown if access.topic(AclOperation.DESCRIBE, topic.name) else denied).append(topic)
    group.topics = shown
    return denied


def _name_topics(node: Needs, group: OffsetFetchRequestGroup) -> list[OffsetFetchRequestTopics]:
    """Give topics asked for by id their names; return those that have none."""
    unknown = []
    known = []
    for topic in group.topics or ():
        image = node.image.topics_by_id.get(topic.topic_id)
        if image is None:
            unknown.append(topic)
        else:
            topic.name = image.name
            known.append(topic)
    group.topics = known
    return unknown


def _failed_topic(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic.name,
        topic.topic_id,
        [
            OffsetFetchResponsePartitions(index, -1, metadata="", error_code=error)
            for index in topic.partition_indexes
        ],
    )


def _one_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The shape of versions before 8."""
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(
                        p.partition_index,
                        p.committed_offset,
                        p.committed_leader_epoch,
                        p.metadata,
                        p.error_code,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in group.topics
        ],
        error_code=group.error_code,
    )
