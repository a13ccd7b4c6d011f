"""Committed offsets of a group: read, written and deleted at its coordinator."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.client.metadata import TopicPartition
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_SINGLE_GROUP = 7  # OffsetFetch: from version 8 on, one request may ask for several groups
_SINCE_STABLE = 7  # OffsetFetch: before, nothing could be asked about transactions
_TOPICS_BY_NAME = 9  # OffsetCommit: from version 10 on, topics go by their ids
_NOT_COMMITTED = -1


class Membership(NamedTuple):
    """In whose name offsets are committed; the default is nobody, which an empty group allows."""

    member_id: str = ""
    generation_id: int = -1
    group_instance_id: str | None = None


NOBODY = Membership()


async def fetch_committed(
    cluster: Cluster,
    group_id: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    stable: bool = False,
) -> dict[TopicPartition, int]:
    """The committed offsets of a group, of all its partitions if none are named.

    Partitions without a committed offset are left out. With `stable`, transactions that are about
    to commit others are waited for, if the partitions are named.
    """
    topics = None
    if partitions is not None:
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in partitions:
            by_topic[topic].append(partition)
        topics = [OffsetFetchRequestTopic(name, each) for name, each in by_topic.items()]
    request = OffsetFetchRequest(group_id=group_id, topics=topics)

    async def attempt() -> dict[TopicPartition, int]:
        connection = await cluster.coordinator(group_id)
        version = connection.version_for(OffsetFetchRequest, _SINGLE_GROUP)
        request.require_stable = stable and version >= _SINCE_STABLE
        response = await connection.send(request, max_version=_SINGLE_GROUP)
        check(response.error_code, f"group {group_id}")
        committed = {}
        for topic in response.topics:
            for answer in topic.partitions:
                name = TopicPartition(topic.name, answer.partition_index)
                check(answer.error_code, f"group {group_id}, partition {name}")
                if answer.committed_offset != _NOT_COMMITTED:
                    committed[name] = answer.committed_offset
        return committed

    return await cluster.retrying(attempt)


async def commit_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[TopicPartition, int],
    membership: Membership = NOBODY,
) -> None:
    """Commit, for each partition, the offset of the record to read next."""
    topics: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, partition), offset in offsets.items():
        topics[topic].append(
            OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        )
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=membership.generation_id,
        member_id=membership.member_id,
        group_instance_id=membership.group_instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=p) for name, p in topics.items()],
    )

    async def attempt() -> None:
        connection = await cluster.coordinator(group_id)
        response = await connection.send(request, max_version=_TOPICS_BY_NAME)
        for topic in response.topics:
            for answer in topic.partitions:
                what = f"group {group_id}, partition {topic.name}-{answer.partition_index}"
                check(answer.error_code, what)

    await cluster.retrying(attempt)
