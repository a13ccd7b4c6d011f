"""OffsetForLeaderEpoch, versions 2-4: where the records of an epoch end."""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import leader_error
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    partitions: Partitions


def handle(
    node: Needs, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> Slices[OffsetForLeaderEpochResponse]:
    slicer = Slicer(context.version)
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answered = OffsetForLeaderTopicResult(topic.topic)
        for asked in topic.partitions:
            found = node.partitions.find(topic.topic, asked.partition)
            answered.partitions.append(slicer.part(_answer(found, asked)))
            if slicer.is_due(2):
                yield
        response.topics.append(answered)
    return response


def _answer(found: Partition | ErrorCode, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    error = leader_error(found, asked.current_leader_epoch)
    if isinstance(found, ErrorCode) or error:
        return EpochEndOffset(error, asked.partition)
    epoch, end_offset = found.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(0, asked.partition, epoch, end_offset)
