"""OffsetFetch: how far a group has read, in the shape of version 8 and later."""

from barnabas.groups.group import Group
from barnabas.wire.messages.group_records import OffsetCommitValue
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_UNKNOWN = OffsetCommitValue(offset=-1)


def fetch(group: Group | None, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    """A partition without a committed offset is answered with -1; that is not an error."""
    response = OffsetFetchResponseGroup(request.group_id)
    if request.topics is None:
        for name, values in group.offsets.topics().items() if group is not None else ():
            partitions = [_fetched(index, value) for index, value in sorted(values.items())]
            response.topics.append(OffsetFetchResponseTopics(name, partitions=partitions))
        return response
    for topic in request.topics:
        partitions = []
        for index in topic.partition_indexes:
            found = group.offsets.get(topic.name, index) if group is not None else None
            partitions.append(_fetched(index, found or _UNKNOWN))
        response.topics.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
    return response


def _fetched(index: int, value: OffsetCommitValue) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(index, value.offset, value.leader_epoch, value.metadata)
