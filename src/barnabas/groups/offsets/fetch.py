"""OffsetFetch: the committed offsets of a group, in the shape of version 8 and later.

A client that requires stable offsets gets UNSTABLE_OFFSET_COMMIT where a transaction is ongoing:
it may already be decided that it commits, and its marker is on the way.
"""

from barnabas.groups.group import Group
from barnabas.groups.offsets.committed_offsets import CommittedOffsets
from barnabas.groups.offsets.group_offsets import is_unstable, unstable_offsets
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import OffsetCommitValue
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_UNKNOWN = OffsetCommitValue(offset=-1)


def fetch(
    group: Group | None, request: OffsetFetchRequestGroup, *, require_stable: bool = False
) -> OffsetFetchResponseGroup:
    """A partition without a committed offset is answered with -1; that is not an error."""
    response = OffsetFetchResponseGroup(request.group_id)
    if request.topics is None:
        if group is not None:
            response.topics += _all_topics(group, require_stable=require_stable)
        return response
    offsets = CommittedOffsets() if group is None else group.image.offsets
    for topic in request.topics:
        partitions = []
        for index in topic.partition_indexes:
            key = (topic.name, index)
            if require_stable and group is not None and is_unstable(group, key):
                partitions.append(_unstable(index))
            else:
                partitions.append(_fetched(index, offsets.get(*key) or _UNKNOWN))
        response.topics.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
    return response


def _all_topics(group: Group, *, require_stable: bool) -> list[OffsetFetchResponseTopics]:
    """All committed offsets and, if stable ones are required, those that are not stable."""
    answers = {
        name: {index: _fetched(index, value) for index, value in values.items()}
        for name, values in group.image.offsets.topics().items()
    }
    if require_stable:
        for name, index in sorted(unstable_offsets(group)):
            answers.setdefault(name, {})[index] = _unstable(index)
    return [
        OffsetFetchResponseTopics(name, partitions=[each for _, each in sorted(partitions.items())])
        for name, partitions in answers.items()
    ]


def _fetched(index: int, value: OffsetCommitValue) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(index, value.offset, value.leader_epoch, value.metadata)


def _unstable(index: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        index,
        _UNKNOWN.offset,
        _UNKNOWN.leader_epoch,
        _UNKNOWN.metadata,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    )
