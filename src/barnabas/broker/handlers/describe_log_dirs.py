"""DescribeLogDirs, versions 1-5: what the data directory holds and how much room is left.

A disk that has room and has refused appends within a minute has failed: KAFKA_STORAGE_ERROR.
"""

import os
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.log import DataDirectory
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    data: DataDirectory
    partitions: Partitions


def handle(
    node: Needs, request: DescribeLogDirsRequest, _: RequestContext
) -> DescribeLogDirsResponse:
    by_name = node.partitions.by_name
    if request.topics is None:
        asked = {
            name: [partition for partition in partitions if partition is not None]
            for name, partitions in by_name.items()
        }
    else:
        asked = {}
        for topic in request.topics:
            indexes = frozenset(topic.partitions)
            asked[topic.topic] = [
                partition
                for partition in by_name.get(topic.topic, ())
                if partition is not None and partition.index in indexes
            ]
    path = node.data.path
    try:
        room = os.statvfs(path)
    except OSError:
        result = DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
        return DescribeLogDirsResponse(results=[result])
    is_failing = room.f_bavail > 0 and bool(node.partitions.refused_appends.recent())
    result = DescribeLogDirsResult(
        error_code=ErrorCode.KAFKA_STORAGE_ERROR if is_failing else ErrorCode.NONE,
        log_dir=path,
        topics=[
            DescribeLogDirsTopic(name, [_describe(partition) for partition in partitions])
            for name, partitions in asked.items()
            if partitions
        ],
        total_bytes=room.f_blocks * room.f_frsize,
        usable_bytes=room.f_bavail * room.f_frsize,
    )
    return DescribeLogDirsResponse(results=[result])


def _describe(partition: Partition) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(partition.index, partition.log.size_bytes)
