"""OffsetFetch: how far a group has read, in the shape of version 8 and later.

Who asks for stable offsets is told to ask again where a transaction goes on: it may be decided
already that it is committed, and its marker on the way.
"""

from barnabas.groups.group import Group
from barnabas.groups.offsets import CommittedOffsets
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
    offsets = CommittedOffsets() if group is None else group.offsets
    if request.topics is None:
        response.topics += _everything(offsets, require_stable=require_stable)
        return response
    for topic in request.topics:
        partitions = []
        for index in topic.partition_indexes:
            if require_stable and offsets.in_transactions.is_unstable((topic.name, index)):
                partitions.append(_unstable(index))
            else:
                partitions.append(_fetched(index, offsets.get(topic.name, index) or _UNKNOWN))
        response.topics.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
    return response


def _everything(
    offsets: CommittedOffsets, *, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    """All that is committed, and, if that matters, all that may be so soon."""
    answers = {
        name: {index: _fetched(index, value) for index, value in values.items()}
        for name, values in offsets.topics().items()
    }
    if require_stable:
        for name, index in sorted(offsets.in_transactions.unstable()):
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
