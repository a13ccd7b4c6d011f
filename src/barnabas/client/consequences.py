"""What an error means for a service that runs: one table for applications and queues.

A service survives a bad night without hands. So each error has one of three consequences:

    waits           somebody or something else mends it: brokers come back, leaders are elected,
                    groups rebalance, transactions of others end. It is tried again for as long as
                    it takes, and said once.
    gives up        it is about the record, or about what was made of it: the next record may do.
                    Retries and dead letters decide; where there is no record, it ends the service.
    stops           a person has to decide: rights, settings, names, versions, lost data.

Clients without a supervisor, such as a plain `Producer` or `Consumer`, have their own limits: what
is `retriable` there is tried again until a timeout, and then raised.
"""

from enum import Enum

from barnabas.errors import (
    BarnabasError,
    BrokerError,
    CommitUncertain,
    DeliveryFailed,
    DeliveryTimedOut,
    GiveUp,
    InvalidArgument,
    LockLost,
    ProducerFenced,
    RetryAfter,
    TransactionAborted,
    UndecodableRecord,
    ValidationFailed,
)
from barnabas.wire.errors import ErrorCode


class Consequence(Enum):
    WAITS = "waits"
    GIVES_UP = "gives up"
    STOPS = "stops"


WAITS = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.STALE_CONTROLLER_EPOCH,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.REASSIGNMENT_IN_PROGRESS,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.INELIGIBLE_REPLICA,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_RECORD_STATE,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)

GIVES_UP = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_RECORD,
    }
)

STOPS = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_FETCH_SIZE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.ILLEGAL_SASL_STATE,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.SECURITY_DISABLED,
        ErrorCode.LOG_DIR_NOT_FOUND,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED,
        ErrorCode.DELEGATION_TOKEN_NOT_FOUND,
        ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
        ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_EXPIRED,
        ErrorCode.INVALID_PRINCIPAL_TYPE,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.TOPIC_DELETION_DISABLED,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.DUPLICATE_RESOURCE,
        ErrorCode.UNACCEPTABLE_CREDENTIAL,
        ErrorCode.INCONSISTENT_VOTER_SET,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.FEATURE_UPDATE_FAILED,
        ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
        ErrorCode.SNAPSHOT_NOT_FOUND,
        ErrorCode.POSITION_OUT_OF_RANGE,
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        ErrorCode.MISMATCHED_ENDPOINT_TYPE,
        ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        ErrorCode.UNKNOWN_CONTROLLER_ID,
        ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
        ErrorCode.TELEMETRY_TOO_LARGE,
        ErrorCode.INVALID_REGISTRATION,
        ErrorCode.INVALID_VOTER_KEY,
        ErrorCode.DUPLICATE_VOTER,
        ErrorCode.VOTER_NOT_FOUND,
        ErrorCode.INVALID_REGULAR_EXPRESSION,
    }
)

_WAITS = (CommitUncertain, DeliveryTimedOut, LockLost, ProducerFenced)
_GIVES_UP = (GiveUp, InvalidArgument, RetryAfter, UndecodableRecord, ValidationFailed)


def consequence_of(error: BaseException) -> Consequence:
    """Of an error of a client, or of a handler: what other code raises is about the record."""
    if isinstance(error, DeliveryFailed):
        return consequence_of(error.first)
    if isinstance(error, BrokerError):
        return consequence_of_code(error.code)
    if isinstance(error, TransactionAborted):
        cause = error.__cause__
        return Consequence.WAITS if cause is None else consequence_of(cause)
    if isinstance(error, _WAITS):
        return Consequence.WAITS
    if isinstance(error, _GIVES_UP) or not isinstance(error, BarnabasError):
        return Consequence.GIVES_UP
    return Consequence.WAITS if error.retriable else Consequence.STOPS


def consequence_of_code(code: ErrorCode) -> Consequence:
    if code in WAITS:
        return Consequence.WAITS
    return Consequence.GIVES_UP if code in GIVES_UP else Consequence.STOPS
