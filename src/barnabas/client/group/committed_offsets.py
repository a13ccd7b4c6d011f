"""Committed offsets of a group: read, written and deleted at its coordinator."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import UnknownTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from barnabas.wire.primitives import ZERO_UUID

_SINCE_GROUPS = 8  # OffsetFetch: from then on, one request may ask for several groups
_NAMED_TOPICS = 9  # OffsetFetch: from version 10 on, topics go by their ids
_SINCE_STABLE = 7  # OffsetFetch: before, nothing could be asked about transactions
_TOPICS_BY_NAME = 9  # OffsetCommit: from version 10 on, topics go by their ids
_NOT_COMMITTED = -1


class GroupMembership(NamedTuple):
    """The member that commits offsets; the default is no member, which an empty group allows.

    `generation_id` is the member's epoch in the consumer protocol.
    """

    member_id: str = ""
    generation_id: int = -1
    group_instance_id: str | None = None


NO_MEMBER = GroupMembership()


class OffsetAndMetadata(NamedTuple):
    """A committed offset, and the text that was committed with it."""

    offset: int
    metadata: str


async def fetch_committed(
    cluster: ClusterClient,
    group_id: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    stable: bool = False,
    membership: GroupMembership = NO_MEMBER,
) -> dict[TopicPartition, int]:
    """The committed offsets of a group, of all its partitions if none are named.

    Partitions without a committed offset are left out. With `stable`, transactions that are about
    to commit others are waited for, if the partitions are named. A member of the consumer protocol
    says who it is, and is refused if its epoch is not the present one.
    """
    found = await fetch_offsets_and_metadata(
        cluster, group_id, partitions, stable=stable, membership=membership
    )
    return {partition: each.offset for partition, each in found.items()}


async def fetch_offsets_and_metadata(
    cluster: ClusterClient,
    group_id: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    stable: bool = False,
    membership: GroupMembership = NO_MEMBER,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """As `fetch_committed`, with the texts that were committed with the offsets."""
    by_topic: dict[str, list[int]] | None = None
    if partitions is not None:
        by_topic = defaultdict(list)
        for topic, partition in partitions:
            by_topic[topic].append(partition)

    async def attempt() -> dict[TopicPartition, OffsetAndMetadata]:
        connection = await cluster.coordinator(group_id)
        version = connection.version_for(OffsetFetchRequest, _NAMED_TOPICS)
        request = (
            _fetch_of_group(group_id, by_topic, membership)
            if version >= _SINCE_GROUPS
            else _fetch(group_id, by_topic)
        )
        request.require_stable = stable and version >= _SINCE_STABLE
        response = await connection.send(request, max_version=_NAMED_TOPICS)
        return _committed_in(response, group_id)

    return await cluster.retrying(attempt)


async def fetch_committed_of_groups(
    cluster: ClusterClient, node_id: int, group_ids: Iterable[str]
) -> dict[str, dict[TopicPartition, int] | None] | None:
    """What several groups of one coordinator have committed, by those that it has answered for.

    A group without an offset is in it. Groups are left out if they are refused, and None stands for
    one to ask again: its coordinator has moved, or loads it. None as a whole if the broker answers
    for one group at a time only.
    """
    connection = await cluster.connection(node_id)
    if connection.version_for(OffsetFetchRequest, _NAMED_TOPICS) < _SINCE_GROUPS:
        return None
    asked = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in group_ids]
    response = await connection.send(OffsetFetchRequest(groups=asked), max_version=_NAMED_TOPICS)
    return {
        group.group_id: _offsets_in(group) if group.error_code == 0 else None
        for group in response.groups
        if group.error_code == 0 or broker_error(group.error_code, group.group_id).retriable
    }


def _offsets_in(group: OffsetFetchResponseGroup) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, each.partition_index): each.committed_offset
        for topic in group.topics
        for each in topic.partitions
        if each.error_code == 0 and each.committed_offset != _NOT_COMMITTED
    }


def _fetch(group_id: str, by_topic: Mapping[str, list[int]] | None) -> OffsetFetchRequest:
    topics = None
    if by_topic is not None:
        topics = [OffsetFetchRequestTopic(name, each) for name, each in by_topic.items()]
    return OffsetFetchRequest(group_id=group_id, topics=topics)


def _fetch_of_group(
    group_id: str, by_topic: Mapping[str, list[int]] | None, membership: GroupMembership
) -> OffsetFetchRequest:
    topics = None
    if by_topic is not None:
        topics = [
            OffsetFetchRequestTopics(name=name, partition_indexes=each)
            for name, each in by_topic.items()
        ]
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=membership.member_id or None,
        member_epoch=membership.generation_id,
        topics=topics,
    )
    return OffsetFetchRequest(groups=[group])


def _committed_in(
    response: OffsetFetchResponse, group_id: str
) -> dict[TopicPartition, OffsetAndMetadata]:
    answers: Iterable[OffsetFetchResponse | OffsetFetchResponseGroup]
    answers = response.groups or [response]
    committed = {}
    for group in answers:
        check(group.error_code, f"group {group_id}", needs="describe")
        for topic in group.topics:
            for answer in topic.partitions:
                name = TopicPartition(topic.name, answer.partition_index)
                what = f"group {group_id}, partition {name}"
                check(answer.error_code, what, needs="describe")
                if answer.committed_offset != _NOT_COMMITTED:
                    committed[name] = OffsetAndMetadata(
                        answer.committed_offset, answer.metadata or ""
                    )
    return committed


async def commit_offsets(
    cluster: ClusterClient,
    group_id: str,
    offsets: Mapping[TopicPartition, int],
    membership: GroupMembership = NO_MEMBER,
    topic_ids: Mapping[TopicPartition, bytes] | None = None,
    metadata: Mapping[TopicPartition, str] | None = None,
) -> None:
    """Commit, for each partition, the offset of the record to read next, and perhaps a text.

    With ids, and brokers that take them, nothing is committed for another topic that has got the
    same name meanwhile. If some are refused because their topic is gone, the others are committed.
    """
    ids, texts = topic_ids or {}, metadata or {}
    topics: defaultdict[tuple[str, bytes], list[OffsetCommitRequestPartition]] = defaultdict(list)
    for name, offset in offsets.items():
        topics[name[0], ids.get(name, ZERO_UUID)].append(
            OffsetCommitRequestPartition(
                partition_index=name[1],
                committed_offset=offset,
                committed_metadata=texts.get(name, ""),
            )
        )
    names = {topic_id: name for name, topic_id in topics}
    by_id = ZERO_UUID not in names
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=membership.generation_id,
        member_id=membership.member_id,
        group_instance_id=membership.group_instance_id,
        topics=[OffsetCommitRequestTopic(*topic, partitions=p) for topic, p in topics.items()],
    )

    async def attempt() -> UnknownTopic | None:
        gone: UnknownTopic | None = None
        connection = await cluster.coordinator(group_id)
        response = await connection.send(request, max_version=None if by_id else _TOPICS_BY_NAME)
        for topic in response.topics:
            for answer in topic.partitions:
                name = topic.name or names.get(topic.topic_id, "")
                what = f"group {group_id}, partition {name}-{answer.partition_index}"
                try:
                    check(answer.error_code, what, needs="read")
                except UnknownTopic as error:
                    gone = error
        return gone

    gone = await cluster.retrying(attempt)
    if gone is not None:
        raise gone
