"""Errors of a ConsumerGroupHeartbeat that do not depend on the group."""

from barnabas.groups.config import GroupConfig
from barnabas.groups.consumer.group import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from barnabas.groups.modern.refusal import RefusedHeartbeat, check_names, check_topics, require
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_MEMBER_ID_BY_CLIENT_FROM = 1
MAX_REGEX_LENGTH = 1_024


def check_request(
    request: ConsumerGroupHeartbeatRequest, config: GroupConfig, api_version: int
) -> None:
    """Raises `RefusedHeartbeat`."""
    epoch = request.member_epoch
    check_names(request.group_id, request.rack_id, request.member_id, request.instance_id)
    if api_version >= _MEMBER_ID_BY_CLIENT_FROM or epoch > 0 or epoch == LEAVE_EPOCH:
        require(request.member_id.strip(), "MemberId is empty")
    require(request.instance_id is None or request.instance_id.strip(), "InstanceId is empty")
    require(epoch >= STATIC_LEAVE_EPOCH, f"there is no MemberEpoch {epoch}")
    if epoch == STATIC_LEAVE_EPOCH:
        require(
            request.instance_id is not None,
            "only a static member leaves with epoch -2: InstanceId is null",
        )
        require(request.member_id.strip(), "MemberId is empty")
    if epoch == 0:
        _check_join(request)
    check_topics(request.subscribed_topic_names or (), "; use SubscribedTopicRegex")
    if len(request.subscribed_topic_regex or "") > MAX_REGEX_LENGTH:
        raise RefusedHeartbeat(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex is longer than {MAX_REGEX_LENGTH} characters",
        )
    assignor = request.server_assignor
    if assignor is not None and assignor not in config.consumer.assignors:
        known = ", ".join(config.consumer.assignors)
        raise RefusedHeartbeat(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"there is no assignor {assignor}; group.consumer.assignors has {known}",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    require(
        request.rebalance_timeout_ms != -1, "a member that joins has to say its RebalanceTimeoutMs"
    )
    require(
        request.topic_partitions is not None and not request.topic_partitions,
        "a member that joins has no TopicPartitions yet: send an empty list",
    )
    require(
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None,
        "a member that joins has to send SubscribedTopicNames or SubscribedTopicRegex",
    )
