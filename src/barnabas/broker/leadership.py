"""Whether a client's idea of a partition's leader is the right one."""

from barnabas.broker.partition import Partition
from barnabas.wire.errors import ErrorCode


def leader_error(partition: Partition | None, current_leader_epoch: int) -> ErrorCode:
    """What to answer a client that names `current_leader_epoch`; -1 names none."""
    if partition is None or partition.deleted:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if current_leader_epoch < 0 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
