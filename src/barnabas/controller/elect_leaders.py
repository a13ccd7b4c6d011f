"""ElectLeaders: an operator brings leadership back, or makes do with a replica that lags."""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import settle
from barnabas.metadata.image import PartitionImage, TopicImage
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


def elect_leaders(draft: Draft, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Each partition on its own. If all are asked for, only those in need are spoken of."""
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
            _result(draft, wanted.topic, index, request.election_type)
            for index in wanted.partitions
        ]
        if everything:
            results = [r for r in results if r.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        if results or not everything:
            response.replica_election_results.append(ReplicaElectionResult(wanted.topic, results))
    return response


def _result(draft: Draft, name: str, index: int, election_type: int) -> PartitionResult:
    try:
        topic = draft.image.topics.get(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")
        if election_type == UNCLEAN:
            _elect_any(draft, topic, topic.partitions[index])
        else:
            _elect_preferred(draft, topic, topic.partitions[index])
    except Refusal as refusal:
        return PartitionResult(index, refusal.error_code, refusal.message)
    return PartitionResult(index, error_message=None)


def _elect_preferred(draft: Draft, topic: TopicImage, partition: PartitionImage) -> None:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        raise Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"broker {preferred} leads already")
    if preferred not in partition.isr or not draft.image.is_active(preferred):
        raise Refusal(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {preferred} is not in sync, or not there",
        )
    settle(draft, topic, replace(partition, leader=preferred))


def _elect_any(draft: Draft, topic: TopicImage, partition: PartitionImage) -> None:
    if partition.leader != NO_LEADER:
        raise Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"broker {partition.leader} leads")
    settle(draft, topic, partition, unclean=True)
    if topic.partitions[partition.index].leader == NO_LEADER:
        raise Refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no replica is there")
