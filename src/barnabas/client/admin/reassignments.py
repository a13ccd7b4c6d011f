"""Replicas that move from broker to broker, and leaders that are elected."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BrokerError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

Results = dict[TopicPartition, BrokerError | None]
"""Why it could not be done, for each partition; None where it was done."""

_PREFERRED = 0
_UNCLEAN = 1


class Reassignment(NamedTuple):
    """A move under way: all replicas there are now, those that come and those that go."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


async def alter_reassignments(
    cluster: ClusterClient, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> Results:
    """Begin to move each partition to the replicas named, the preferred leader first.

    None calls a move that is under way off. That it is done, `list_reassignments` tells.
    """
    topics: defaultdict[str, list[ReassignablePartition]] = defaultdict(list)
    for (topic, partition), replicas in targets.items():
        wanted = None if replicas is None else list(replicas)
        topics[topic].append(ReassignablePartition(partition, wanted))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=cluster.request_timeout_ms,
        topics=[ReassignableTopic(name, partitions) for name, partitions in topics.items()],
    )

    async def attempt() -> Results:
        response = await (await cluster.controller()).send(
            request, timeout_ms=cluster.request_timeout_ms
        )
        check(response.error_code, "reassignment", response.error_message, needs="alter")
        return {
            (name := TopicPartition(topic.name, answer.partition_index)): _error(
                answer.error_code, name, answer.error_message
            )
            for topic in response.responses
            for answer in topic.partitions
        }

    return await cluster.retrying(attempt)


async def list_reassignments(cluster: ClusterClient) -> dict[TopicPartition, Reassignment]:
    """All moves that are under way."""

    async def attempt() -> dict[TopicPartition, Reassignment]:
        response = await (await cluster.controller()).send(
            ListPartitionReassignmentsRequest(timeout_ms=cluster.request_timeout_ms, topics=None),
            timeout_ms=cluster.request_timeout_ms,
        )
        check(response.error_code, "reassignments", response.error_message, needs="describe")
        return {
            TopicPartition(topic.name, each.partition_index): Reassignment(
                each.replicas, each.adding_replicas, each.removing_replicas
            )
            for topic in response.topics
            for each in topic.partitions
        }

    return await cluster.retrying(attempt)


async def elect_leaders(
    cluster: ClusterClient,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    unclean: bool = False,
) -> Results:
    """Let the preferred replicas lead, of all partitions if none are named.

    `unclean` lets a replica lead that is not in sync where no other is left; acknowledged records
    that only the others have are lost then. Partitions that need no election are left out.
    """
    named: defaultdict[str, list[int]] | None = None
    if partitions is not None:
        named = defaultdict(list)
        for topic, partition in partitions:
            named[topic].append(partition)
    request = ElectLeadersRequest(
        election_type=_UNCLEAN if unclean else _PREFERRED,
        topic_partitions=None
        if named is None
        else [TopicPartitions(topic, each) for topic, each in named.items()],
        timeout_ms=cluster.request_timeout_ms,
    )

    async def attempt() -> Results:
        response = await (await cluster.controller()).send(
            request, timeout_ms=cluster.request_timeout_ms
        )
        check(response.error_code, "election", needs="alter")
        return {
            (name := TopicPartition(topic.topic, answer.partition_id)): _error(
                answer.error_code, name, answer.error_message
            )
            for topic in response.replica_election_results
            for answer in topic.partition_result
            if answer.error_code != ErrorCode.ELECTION_NOT_NEEDED
        }

    return await cluster.retrying(attempt)


def _error(code: int, partition: TopicPartition, message: str | None) -> BrokerError | None:
    return broker_error(code, f"partition {partition}", message) if code else None
