"""ElectLeaders: an operator elects preferred leaders, or unclean ones."""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

PREFERRED = 0
UNCLEAN = 1


def elect_leaders(
    draft: Draft,
    request: ElectLeadersRequest,
    ends: ReplicaEnds,
) -> ElectLeadersResponse:
    """Each partition succeeds or fails on its own.

    If the request is for all partitions, those without need for an election are left out of the
    response. `ends` has the log ends of the replicas, for unclean elections. Brokers that are
    behind with the metadata are no preferred leaders: they would not know that they lead.
    """
    if request.election_type not in (PREFERRED, UNCLEAN):
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    everything = request.topic_partitions is None
    asked = request.topic_partitions
    if asked is None:
        asked = [
            TopicPartitions(topic.name, list(range(len(topic.partitions))))
            for topic in draft.image.topics.values()
        ]
    response = ElectLeadersResponse()
    for wanted in asked:
        results = [
            _result(draft, wanted.topic, index, request.election_type, ends)
            for index in wanted.partitions
        ]
        if everything:
            results = [r for r in results if r.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        if results or not everything:
            response.replica_election_results.append(ReplicaElectionResult(wanted.topic, results))
    return response


def leaderless(
    image: MetadataImage, request: ElectLeadersRequest
) -> list[tuple[TopicImage, PartitionImage]]:
    """The partitions of the request for which the log ends of replicas are needed."""
    if request.election_type != UNCLEAN:
        return []
    asked = request.topic_partitions
    found = [
        (topic, partition)
        for topic in image.topics.values()
        for partition in topic.partitions
        if partition.leader == NO_LEADER
    ]
    if asked is None:
        return found
    named = {(wanted.topic, index) for wanted in asked for index in wanted.partitions}
    return [
        (topic, partition) for topic, partition in found if (topic.name, partition.index) in named
    ]


def _result(
    draft: Draft,
    name: str,
    index: int,
    election_type: int,
    ends: ReplicaEnds,
) -> PartitionResult:
    try:
        topic = draft.image.topics.get(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "unknown partition")
        if election_type == UNCLEAN:
            _elect_any(draft, topic, topic.partitions[index], ends)
        else:
            _elect_preferred(draft, topic, topic.partitions[index])
    except Refusal as refusal:
        return PartitionResult(index, refusal.error_code, refusal.message)
    return PartitionResult(index, error_message=None)


def _elect_preferred(draft: Draft, topic: TopicImage, partition: PartitionImage) -> None:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        raise Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"broker {preferred} is the leader already")
    if preferred not in partition.isr or not draft.image.is_active(preferred):
        raise Refusal(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {preferred} is not in sync or not active",
        )
    if preferred in draft.behind:
        raise Refusal(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {preferred} is behind with the metadata log and would not know that it leads: "
            "is its disk full?",
        )
    change_partition(draft, topic, replace(partition, leader=preferred))


def _elect_any(
    draft: Draft, topic: TopicImage, partition: PartitionImage, ends: ReplicaEnds
) -> None:
    if partition.leader != NO_LEADER:
        raise Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"broker {partition.leader} is the leader")
    change_partition(draft, topic, partition, ends=ends)
    if topic.partitions[partition.index].leader == NO_LEADER:
        raise Refusal(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
            f"none of brokers {partition.replicas} has answered; start one of them",
        )
