"""What a broker's error codes mean to a user, and which exception stands for each.

The exceptions themselves are in `barnabas.errors`.
"""

import re
from typing import NamedTuple

from barnabas.errors import (
    BarnabasError,
    BrokerError,
    GroupNotEmpty,
    NotAuthorized,
    NotEnoughReplicas,
    OffsetOutOfRange,
    RefusedAsTooLarge,
    TopicExists,
    UnknownGroup,
    UnknownTopic,
)
from barnabas.wire.errors import ErrorCode


class _Meaning(NamedTuple):
    """What a code means to a user.

    Without an explanation the broker's own message stands, and if it has none, what is `unsaid`.
    """

    explanation: str | None
    fix: str | None = None
    unsaid: str = "refused by the broker"


_MEANINGS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _Meaning(
        "it does not exist",
        "see `barnabas topics list`, or create it with `barnabas topics create`",
    ),
    ErrorCode.TOPIC_ALREADY_EXISTS: _Meaning(
        "it already exists", "use exist_ok=True to ignore this"
    ),
    ErrorCode.MESSAGE_TOO_LARGE: _Meaning(
        None,
        "raise max.message.bytes with `barnabas configs set topic NAME max.message.bytes=N`",
        "a record or batch is larger than the topic allows",
    ),
    ErrorCode.RECORD_LIST_TOO_LARGE: _Meaning(None, "send less at once, or raise segment.bytes"),
    ErrorCode.NOT_ENOUGH_REPLICAS: _Meaning(
        "too few replicas are in sync", "see `barnabas topics describe` and min.insync.replicas"
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER: _Meaning(
        "another broker leads it now", "see `barnabas topics describe`"
    ),
    ErrorCode.FENCED_LEADER_EPOCH: _Meaning("it has a new leader"),
    ErrorCode.UNKNOWN_LEADER_EPOCH: _Meaning("the broker does not know its new leader yet"),
    ErrorCode.UNKNOWN_TOPIC_ID: _Meaning("it was deleted, or deleted and created again"),
    ErrorCode.REPLICA_NOT_AVAILABLE: _Meaning("the broker keeps no replica of it"),
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _Meaning(
        "it was stored by fewer replicas than acks=all asks for", "see min.insync.replicas"
    ),
    ErrorCode.NOT_COORDINATOR: _Meaning("another broker coordinates it now"),
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _Meaning("its coordinator is still starting"),
    ErrorCode.BROKER_NOT_AVAILABLE: _Meaning("the broker is not available"),
    ErrorCode.LEADER_NOT_AVAILABLE: _Meaning("it has no leader now", "are all its brokers up?"),
    ErrorCode.NOT_CONTROLLER: _Meaning(
        "the cluster has no controller now", "are most of its voters up?"
    ),
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: _Meaning(
        None, "see `barnabas cluster status`", "its preferred replica is not in sync, or down"
    ),
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: _Meaning(
        "none of its replicas may lead", "start the nodes that keep them"
    ),
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: _Meaning("it is not being moved"),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: _Meaning(
        "it has no coordinator now", "are all brokers up?"
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: _Meaning("its previous transaction is still ending"),
    ErrorCode.INVALID_TXN_STATE: _Meaning("not allowed in the current state of its transaction"),
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: _Meaning(
        "the cluster does not know this producer",
        "it was idle for longer than transactional.id.expiration.ms; create a new producer",
    ),
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: _Meaning(
        "the timeout is longer than the broker allows",
        "choose a shorter one, or raise transaction.max.timeout.ms on the brokers",
    ),
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: _Meaning(
        "it does not exist", "see `barnabas transactions list`"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _Meaning(
        "not allowed with this transactional id"
    ),
    ErrorCode.INVALID_REPLICATION_FACTOR: _Meaning(
        None, "choose one between 1 and the number of brokers"
    ),
    ErrorCode.INVALID_PARTITIONS: _Meaning(None, "partitions can be added, not removed"),
    ErrorCode.INVALID_TOPIC_EXCEPTION: _Meaning(
        None, "a name has 1 to 249 letters, digits, '.', '_' and '-'"
    ),
    ErrorCode.NON_EMPTY_GROUP: _Meaning("it has members", "stop its consumers first"),
    ErrorCode.GROUP_ID_NOT_FOUND: _Meaning("it does not exist", "see `barnabas groups list`"),
    ErrorCode.UNKNOWN_MEMBER_ID: _Meaning(
        "the group does not know this member", "if it has other members, stop them first"
    ),
    ErrorCode.INVALID_SESSION_TIMEOUT: _Meaning(
        "the session timeout is outside the limits of the broker",
        "see group.min.session.timeout.ms and group.max.session.timeout.ms on the brokers",
    ),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: _Meaning(
        "it is of another type, such as a share group, or its members have no assignor in common",
        "choose another group, or an assignor that all members have; see `barnabas groups list`",
    ),
    ErrorCode.FENCED_INSTANCE_ID: _Meaning(
        "another member joined with the same instance id", "give each member a unique instance_id"
    ),
    ErrorCode.ILLEGAL_GENERATION: _Meaning(
        "the group has rebalanced", "what was not committed is read again"
    ),
    ErrorCode.REBALANCE_IN_PROGRESS: _Meaning(
        "the group is rebalancing", "what was not committed is read again"
    ),
    ErrorCode.FENCED_MEMBER_EPOCH: _Meaning(
        "the coordinator has removed this member", "what was not committed is read again"
    ),
    ErrorCode.STALE_MEMBER_EPOCH: _Meaning(
        "the group has rebalanced", "what was not committed is read again"
    ),
    ErrorCode.UNRELEASED_INSTANCE_ID: _Meaning(
        "the instance id is in use by another member",
        "give each member a unique instance_id; one that has crashed is removed after its session "
        "timeout",
    ),
    ErrorCode.UNSUPPORTED_ASSIGNOR: _Meaning(None, "see group.consumer.assignors on the brokers"),
    ErrorCode.GROUP_MAX_SIZE_REACHED: _Meaning(
        "it has as many members as the brokers allow",
        "see group.max.size and group.consumer.max.size on the brokers",
    ),
    ErrorCode.TOPIC_DELETION_DISABLED: _Meaning(
        "topic deletion is disabled", "set delete.topic.enable=true on the brokers"
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: _Meaning(
        "the offset is not in the log", "see `barnabas topics describe`"
    ),
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: _Meaning(
        None, "choose another compression; the broker does not support this one"
    ),
    ErrorCode.KAFKA_STORAGE_ERROR: _Meaning("the broker cannot use its disk", "is it full?"),
    ErrorCode.REQUEST_TIMED_OUT: _Meaning("the broker could not do it in time"),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _Meaning("not allowed on this topic"),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: _Meaning("not allowed on this group"),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _Meaning("not allowed on this cluster"),
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: _Meaning(
        "the brokers have no delegation tokens", "set delegation.token.secret.key on all of them"
    ),
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: _Meaning(
        "it does not exist", "see `barnabas tokens list`"
    ),
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: _Meaning(
        "this user is neither its owner nor one of its renewers"
    ),
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: _Meaning(
        "only clients that have signed in, and not with a token, may ask for tokens"
    ),
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: _Meaning(
        "not allowed to create tokens for this user",
        "it needs create_tokens on the user, see `barnabas acls add --help`",
    ),
    ErrorCode.DELEGATION_TOKEN_EXPIRED: _Meaning("it has expired", "create a new one"),
    ErrorCode.INVALID_PRINCIPAL_TYPE: _Meaning("tokens are for users only", "write User:NAME"),
}
_UNEXPLAINED = _Meaning(None)
_CLASSES: dict[ErrorCode, type[BrokerError]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopic,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopic,
    ErrorCode.TOPIC_ALREADY_EXISTS: TopicExists,
    ErrorCode.GROUP_ID_NOT_FOUND: UnknownGroup,
    ErrorCode.NON_EMPTY_GROUP: GroupNotEmpty,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: GroupNotEmpty,
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetOutOfRange,
    ErrorCode.NOT_ENOUGH_REPLICAS: NotEnoughReplicas,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: NotEnoughReplicas,
    ErrorCode.MESSAGE_TOO_LARGE: RefusedAsTooLarge,
    ErrorCode.RECORD_LIST_TOO_LARGE: RefusedAsTooLarge,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: NotAuthorized,
}


class _Resource(NamedTuple):
    """What a denial is about, with its name in our messages; the cluster needs none."""

    kind: str
    option: str
    name: re.Pattern[str]
    operation: str | None = None
    """The one that clients ask for."""
    includes_describe: str | None = None
    """The operation that whoever describes it needs as well."""


_RESOURCES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _Resource(
        "topic", "--topic", re.compile(r"\btopic (\S+?)(?=,|$)|\bpartition (\S+)-\d+"), None, "read"
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: _Resource(
        "group", "--group", re.compile(r"\bgroup (\S+?)(?=,|$)"), None, "read"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _Resource(
        "transactional id",
        "--transactional-id",
        re.compile(r"\btransactional id (\S+?)(?=,|$)"),
        "write",
        "write",
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _Resource("cluster", "--cluster", re.compile(r"()")),
}
_DESCRIBE = "describe"
_SETTING = re.compile(r"\b[a-z]+(?:\.[a-z]+){2,}\b")


def code_of(error_code: int) -> ErrorCode:
    """The code as an enum; one that is newer than this client counts as an unknown error."""
    try:
        return ErrorCode(error_code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def broker_error(
    error_code: int, what: str, message: str | None = None, *, needs: str | None = None
) -> BrokerError:
    """The exception for a code about `what`, such as "topic orders".

    Our fix is a guess from the code. A broker that names a setting itself knows better. `needs` is
    the operation that was asked for, such as "write": brokers don't say which one they deny.
    """
    code = code_of(error_code)
    meaning = _denied(code, what, needs) or _MEANINGS.get(code, _UNEXPLAINED)
    explanation = meaning.explanation or (message or meaning.unsaid).rstrip(".")
    name = code.name if code == error_code else str(error_code)
    told = meaning.explanation is None and _SETTING.search(explanation)
    fix = f"; {meaning.fix}" if meaning.fix and not told else ""
    return _CLASSES.get(code, BrokerError)(code, f"{what}: {explanation} ({name}){fix}")


def _denied(code: ErrorCode, what: str, needs: str | None) -> _Meaning | None:
    """Which operation is not allowed, and the command that allows it."""
    resource = _RESOURCES.get(code)
    if resource is None:
        return None
    needs = needs or resource.operation
    named = resource.name.search(what)
    if needs is None or named is None:
        return None
    name = next(each for each in named.groups() if each is not None)
    granted, includes = needs, ""
    if needs == _DESCRIBE and resource.includes_describe:
        granted = resource.includes_describe
        includes = f" with {granted}, which includes it"
    command = f"barnabas acls add USER {granted} {resource.option} {name}".rstrip()
    return _Meaning(
        f"{needs} is not allowed on this {resource.kind}",
        f"an administrator allows it{includes}: {command}",
    )


def check(
    error_code: int, what: str, message: str | None = None, *, needs: str | None = None
) -> None:
    """Raise unless the code is NONE."""
    if error_code:
        raise broker_error(error_code, what, message, needs=needs)


def worth_retrying(error: BarnabasError) -> bool:
    """Whether another attempt may help, except that what does not exist is taken as final."""
    if isinstance(error, BrokerError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return False
    return error.retriable


def is_busy(error: BarnabasError) -> bool:
    """Whether the coordinator is right, and is only writing the end of a transaction."""
    return isinstance(error, BrokerError) and error.code is ErrorCode.CONCURRENT_TRANSACTIONS
