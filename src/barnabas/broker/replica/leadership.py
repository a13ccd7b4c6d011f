"""Checks the leader and leader epoch that a client assumes, and returns the current ones."""

from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode

TELLS_LEADER = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors that are sent with the current leader, so that the client need not refresh its
metadata."""


def epoch_error(partition: Partition, current_leader_epoch: int) -> ErrorCode:
    """The error for a client that sends `current_leader_epoch`; -1 if it sends none."""
    if current_leader_epoch < 0 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


def leader_error(found: Partition | ErrorCode, current_leader_epoch: int) -> ErrorCode:
    """The same for a request that only the leader serves."""
    if isinstance(found, ErrorCode):
        return found
    if found.deleted:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = epoch_error(found, current_leader_epoch)
    if error is ErrorCode.NONE and not found.is_leader:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error


def partition_image(image: MetadataImage, topic: str | bytes, index: int) -> PartitionImage | None:
    """The image of a partition, whose topic is given by name or id."""
    known: TopicImage | None = (
        image.topics_by_id.get(topic) if isinstance(topic, bytes) else image.topics.get(topic)
    )
    if known is None or not 0 <= index < len(known.partitions):
        return None
    return known.partitions[index]
