"""OffsetFetch: the committed offsets of a group, in the shape of version 8 and later.

A client that requires stable offsets gets UNSTABLE_OFFSET_COMMIT where a transaction is ongoing:
it may already be decided that it commits, and its marker is on the way.
"""

from barnabas.groups.group import Group
from barnabas.groups.modern.topics import Topics, topic_id_of
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
from barnabas.wire.primitives import ZERO_UUID

_UNKNOWN = OffsetCommitValue(offset=-1)


def fetch(
    group: Group | None,
    request: OffsetFetchRequestGroup,
    topics: Topics,
    *,
    require_stable: bool = False,
) -> OffsetFetchResponseGroup:
    """A partition without a committed offset is answered with -1; that is not an error.

    So is one whose offset was committed for an earlier topic of that name.
    """
    response = OffsetFetchResponseGroup(request.group_id)
    if request.topics is None:
        if group is not None:
            response.topics += _all_topics(group, topics, require_stable=require_stable)
        return response
    offsets = CommittedOffsets() if group is None else group.image.offsets
    for topic in request.topics:
        partitions = []
        topic_id = topic_id_of(topics, topic.name)
        for index in topic.partition_indexes:
            key = (topic.name, index)
            if require_stable and group is not None and is_unstable(group, key):
                partitions.append(_unstable(index))
            else:
                partitions.append(_fetched(index, _of_topic(offsets.get(*key), topic_id)))
        response.topics.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
    return response


def _of_topic(value: OffsetCommitValue | None, topic_id: bytes) -> OffsetCommitValue:
    """The committed offset, unless it is known to be of another topic of that name."""
    if value is None:
        return _UNKNOWN
    are_known = ZERO_UUID not in (topic_id, value.topic_id)
    return _UNKNOWN if are_known and topic_id != value.topic_id else value


def _all_topics(
    group: Group, topics: Topics, *, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    """All committed offsets and, if stable ones are required, those that are not stable."""
    answers: dict[str, dict[int, OffsetFetchResponsePartitions]] = {}
    for name, values in group.image.offsets.topics().items():
        topic_id = topic_id_of(topics, name)
        known = {index: _of_topic(value, topic_id) for index, value in values.items()}
        found = {i: _fetched(i, value) for i, value in known.items() if value is not _UNKNOWN}
        if found:
            answers[name] = found
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
