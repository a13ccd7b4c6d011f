"""AlterReplicaLogDirs, versions 1-2: a node has one directory, and its replicas are there.

Moving a replica there succeeds, as it is there already; another directory does not exist.
"""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.partitions import Partitions
from barnabas.log import DataDirectory
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    data: DataDirectory
    partitions: Partitions


def handle(
    node: Needs, request: AlterReplicaLogDirsRequest, _: RequestContext
) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic.name,
                [
                    AlterReplicaLogDirPartitionResult(
                        index, _error(node, directory.path, topic.name, index)
                    )
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


def _error(node: Needs, path: str, topic: str, index: int) -> ErrorCode:
    if path != node.data.path:
        return ErrorCode.LOG_DIR_NOT_FOUND
    partitions = node.partitions.by_name.get(topic, ())
    has_replica = 0 <= index < len(partitions) and partitions[index] is not None
    return ErrorCode.NONE if has_replica else ErrorCode.REPLICA_NOT_AVAILABLE
