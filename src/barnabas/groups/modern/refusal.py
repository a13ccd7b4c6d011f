"""Why a heartbeat is refused, an error code and a message for people; and checks that newer
protocols have in common."""

from collections.abc import Sequence

from barnabas.groups.memory import PER_TOPIC_BYTES, GroupMemory
from barnabas.groups.names import MAX_NAME_LENGTH, MAX_SUBSCRIBED_TOPICS, check_group_id
from barnabas.wire.errors import ErrorCode

_MAX_TOPIC_NAME_LENGTH = 249


class RefusedHeartbeat(Exception):  # noqa: N818 - an expected outcome
    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message


def require(condition: object, message: str) -> None:
    if not condition:
        raise RefusedHeartbeat(ErrorCode.INVALID_REQUEST, message)


def check_names(group_id: str, rack_id: str | None, *others: str | None) -> None:
    """Raises `RefusedHeartbeat`."""
    require(group_id.strip(), "GroupId is empty")
    if check_group_id(group_id):
        raise RefusedHeartbeat(ErrorCode.INVALID_GROUP_ID, "GroupId is too long")
    require(rack_id is None or rack_id.strip(), "RackId is empty")
    for name in (rack_id, *others):
        require(len(name or "") <= MAX_NAME_LENGTH, "a name is too long")


def check_topics(names: Sequence[str], instead: str = "") -> None:
    """Those of a subscription. Raises `RefusedHeartbeat`."""
    require(
        len(names) <= MAX_SUBSCRIBED_TOPICS,
        f"SubscribedTopicNames has {len(names)} topics, the limit is {MAX_SUBSCRIBED_TOPICS}"
        + instead,
    )
    for name in names:
        require(len(name) <= _MAX_TOPIC_NAME_LENGTH, "a topic name is too long")


def check_room(memory: GroupMemory, names: Sequence[str], more: int) -> None:
    """Whether there is room for a subscription, and for `more` bytes. Raises `RefusedHeartbeat`."""
    more += sum(map(len, names)) + PER_TOPIC_BYTES * len(names)
    if more and not memory.has_room(more):
        raise RefusedHeartbeat(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            "the coordinator has no memory left for the subscription: raise "
            "group.metadata.max.bytes",
        )
