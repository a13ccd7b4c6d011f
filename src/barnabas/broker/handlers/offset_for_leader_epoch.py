"""OffsetForLeaderEpoch, versions 2-4: where the records of an epoch end."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.leadership import leader_error
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(
    node: Node, request: OffsetForLeaderEpochRequest, _: RequestContext
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic,
                [
                    _answer(node.partitions.get(topic.topic, asked.partition), asked)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(partition: Partition | None, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    error = leader_error(partition, asked.current_leader_epoch)
    if partition is None or error:
        return EpochEndOffset(error, asked.partition)
    if asked.leader_epoch == partition.leader_epoch:
        return EpochEndOffset(
            0, asked.partition, partition.leader_epoch, partition.log.log_end_offset
        )
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(0, asked.partition, epoch, end_offset)
