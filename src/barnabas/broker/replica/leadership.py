"""Whether a client's idea of a partition's leader is the right one, and what the right one is."""

from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode

TELLS_LEADER = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""The errors that go with a hint at the leader, so that the client need not ask for it."""


def epoch_error(partition: Partition, current_leader_epoch: int) -> ErrorCode:
    """What to answer a client that names `current_leader_epoch`; -1 names none."""
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
    """What is agreed about a partition of a topic that is given by its name or id."""
    known: TopicImage | None = (
        image.topics_by_id.get(topic) if isinstance(topic, bytes) else image.topics.get(topic)
    )
    if known is None or not 0 <= index < len(known.partitions):
        return None
    return known.partitions[index]
