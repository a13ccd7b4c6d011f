"""What the messages have in common."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from barnabas.wire.errors import ErrorCode

NO_LEADER = -1

PartitionT = TypeVar("PartitionT")


class _Topic(Protocol[PartitionT]):
    partitions: list[PartitionT]


def only_partition(topics: "Sequence[_Topic[PartitionT]]") -> PartitionT | None:
    """The one partition that a message is about."""
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return topics[0].partitions[0]
    return None


def encode_leader(leader_id: int | None) -> int:
    return NO_LEADER if leader_id is None else leader_id


def decode_leader(leader_id: int) -> int | None:
    return None if leader_id < 0 else leader_id


def decode_error(error_code: int) -> ErrorCode:
    """An unknown code counts as an unknown server error."""
    try:
        return ErrorCode(error_code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
