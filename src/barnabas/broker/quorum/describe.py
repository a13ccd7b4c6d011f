"""DescribeQuorum's answers: of a leader, of another member, and of a node that is in no cluster."""

from collections.abc import Callable

from barnabas.broker.quorum.messages.fields import encode_leader, only_partition
from barnabas.broker.quorum.metadata_topic import METADATA_PARTITION
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.raft import QuorumStatus, ReplicaKey, ReplicaStatus, VoterSet
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    PartitionResult,
    ReplicaState,
    TopicData,
    TopicResult,
)

NOT_FORMED = ErrorCode.BROKER_NOT_AVAILABLE
"""What a node answers, with its own id and directory as the only voter, that is in no cluster."""
METADATA_QUESTION = DescribeQuorumRequest(
    [TopicData(CLUSTER_METADATA, [PartitionData(METADATA_PARTITION)])]
)
CONFIRMED_QUESTION = DescribeQuorumRequest(METADATA_QUESTION.topics, confirmed=True)


def asks_for_metadata(request: DescribeQuorumRequest) -> bool:
    return [
        (topic.topic_name, [partition.partition_index for partition in topic.partitions])
        for topic in request.topics
    ] == [(CLUSTER_METADATA, [METADATA_PARTITION])]


def unknown_topic() -> DescribeQuorumResponse:
    return DescribeQuorumResponse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "only the metadata has one")


def describe_nobody(me: ReplicaKey) -> DescribeQuorumResponse:
    """The response of a node that is in no cluster yet: only its identity."""
    return _answer(
        PartitionResult(
            METADATA_PARTITION,
            NOT_FORMED,
            "this node has not joined a cluster yet",
            leader_id=-1,
            leader_epoch=-1,
            high_watermark=-1,
            current_voters=[ReplicaState(*me, log_end_offset=-1)],
        )
    )


def describe_beginner() -> DescribeQuorumResponse:
    """The response of a cluster member that does not know the voters: it is starting or
    stopping."""
    return _answer(
        PartitionResult(
            METADATA_PARTITION,
            ErrorCode.LEADER_NOT_AVAILABLE,
            "this node is starting or stopping",
            leader_id=-1,
            leader_epoch=-1,
            high_watermark=-1,
        )
    )


def describe_member(
    me: ReplicaKey, log_end_offset: int, status: QuorumStatus, voters: VoterSet
) -> DescribeQuorumResponse:
    """The response of a member that is not the leader: the voters, and its log end.

    It does not know the log ends of others, so this also shows which node has answered.
    """

    def state(key: ReplicaKey) -> ReplicaState:
        return ReplicaState(*key, log_end_offset=log_end_offset if key == me else -1)

    return _answer(
        PartitionResult(
            METADATA_PARTITION,
            ErrorCode.LEADER_NOT_AVAILABLE,
            "no leader is known",
            leader_id=encode_leader(status.leader_id),
            leader_epoch=status.epoch,
            high_watermark=status.high_watermark,
            current_voters=list(map(state, voters.keys)),
            observers=[] if me in voters else [state(me)],
        ),
        voters,
    )


def describe_leader(
    status: QuorumStatus, voters: VoterSet, now_ms: int, to_time: Callable[[int], int]
) -> DescribeQuorumResponse:
    """`to_time` converts a time on the leader's steady clock to wall-clock time.

    The leader is always caught up as of now, so that the others' lag can be computed.
    """

    def state(replica: ReplicaStatus) -> ReplicaState:
        is_leader = replica.key.node_id == status.leader_id
        fetched_ms = now_ms if is_leader else to_time(replica.last_fetch_ms)
        has_all = replica.log_end_offset >= status.high_watermark
        return ReplicaState(
            *replica.key, replica.log_end_offset, fetched_ms, fetched_ms if has_all else -1
        )

    return _answer(
        PartitionResult(
            METADATA_PARTITION,
            error_message=None,
            leader_id=encode_leader(status.leader_id),
            leader_epoch=status.epoch,
            high_watermark=status.high_watermark,
            current_voters=list(map(state, status.voters)),
            observers=list(map(state, status.observers)),
        ),
        voters,
    )


def who_answers(answer: DescribeQuorumResponse) -> ReplicaKey | None:
    """The replica that has given this response; None if it does not say."""
    partition = only_partition(answer.topics)
    if answer.error_code or partition is None:
        return None
    for state in (*partition.current_voters, *partition.observers):
        is_leader = not partition.error_code and state.replica_id == partition.leader_id
        is_member = partition.error_code and state.log_end_offset >= 0
        if is_leader or is_member or partition.error_code == NOT_FORMED:
            return ReplicaKey(state.replica_id, bytes(state.replica_directory_id))
    return None


def _answer(partition: PartitionResult, voters: VoterSet | None = None) -> DescribeQuorumResponse:
    nodes = [
        Node(voter.key.node_id, [Listener(at.name, at.host, at.port) for at in voter.endpoints])
        for voter in (voters.voters if voters else ())
    ]
    topic = TopicResult(CLUSTER_METADATA, [partition])
    return DescribeQuorumResponse(error_message=None, topics=[topic], nodes=nodes)
