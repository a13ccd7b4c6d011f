"""Everything the client raises, as one tree.

`retriable` says whether doing the same again may help. Messages name the fix wherever there is one,
because they are what the user of a command line sees.
"""

from barnabas.wire.errors import ErrorCode


class BarnabasError(Exception):
    """The root of the tree."""

    retriable = False


class BrokerUnreachable(BarnabasError):  # noqa: N818 - says what is wrong
    """No connection could be made to the address the user gave, or to one that a broker gave."""

    retriable = True

    @classmethod
    def at_bootstrap(cls, tried: list[tuple[str, str]]) -> "BrokerUnreachable":
        """None of the bootstrap addresses answered; `tried` holds each with its reason."""
        reasons = "; ".join(f"{address} ({reason})" for address, reason in tried)
        return cls(
            f"cannot reach a broker at {reasons}: is `barnabas server` running there? "
            "Give another address with --bootstrap HOST:PORT"
        )

    @classmethod
    def at_advertised(cls, node_id: int, address: str, reason: str) -> "BrokerUnreachable":
        """The cluster was reached, but a broker is not where it says it is."""
        return cls(
            f"broker {node_id} says it is at {address}, and that cannot be reached ({reason}): "
            "start it with --advertise HOST:PORT (advertised.listeners), an address that its "
            "clients can reach"
        )


class ConnectionLost(BarnabasError):  # noqa: N818 - says what is wrong
    """The connection broke while a request was under way; it may have been carried out."""

    retriable = True


class RequestTimedOut(BarnabasError):  # noqa: N818 - says what is wrong
    """A broker accepted a request and did not answer in time."""

    retriable = True


class DeliveryTimedOut(BarnabasError):  # noqa: N818 - says what is wrong
    """A record could not be delivered in the time it was given."""


class ProtocolMismatch(BarnabasError):  # noqa: N818 - says what is wrong
    """The other side does not speak Kafka, or no version of a request that both sides know."""


class CorruptRecords(BarnabasError):  # noqa: N818 - says what is wrong
    """Fetched records that cannot be decoded."""


class InvalidArgument(BarnabasError, ValueError):  # noqa: N818 - says what is wrong
    """Something that no broker needs to be asked about: it cannot be right."""


class BrokerError(BarnabasError):
    """A broker answered with an error code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = code.retriable


_FIXES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "it does not exist; see `barnabas topics list`, or make "
    "it with `barnabas topics create`",
    ErrorCode.TOPIC_ALREADY_EXISTS: "it exists already; --if-not-exists makes that no error",
    ErrorCode.MESSAGE_TOO_LARGE: "the message is larger than the topic takes: raise "
    "max.message.bytes with `barnabas configs set topic NAME max.message.bytes=N`",
    ErrorCode.RECORD_LIST_TOO_LARGE: "the batch is larger than a segment of the topic: send less "
    "at once, or raise segment.bytes",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few replicas are in sync: see `barnabas topics describe`, "
    "and min.insync.replicas",
    ErrorCode.LEADER_NOT_AVAILABLE: "the partition has no leader now: are all its brokers up?",
    ErrorCode.INVALID_REPLICATION_FACTOR: "the replication factor must be between 1 and the number "
    "of brokers",
    ErrorCode.INVALID_PARTITIONS: "the number of partitions is not possible; it can only grow",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "not a topic name: use 1 to 249 letters, digits, '.', '_' "
    "and '-'",
    ErrorCode.NON_EMPTY_GROUP: "the group has members: stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group; see `barnabas groups list`",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop its consumers first",
    ErrorCode.TOPIC_DELETION_DISABLED: "the broker forbids it: set delete.topic.enable=true there",
    ErrorCode.OFFSET_OUT_OF_RANGE: "the log holds no such offset; see `barnabas topics describe`",
    ErrorCode.INVALID_REQUIRED_ACKS: "acks must be 0, 1 or all",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "the broker does not know this compression",
    ErrorCode.UNSUPPORTED_VERSION: "the broker is too old for this request",
    ErrorCode.KAFKA_STORAGE_ERROR: "the broker cannot use its disk: is it full?",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the group has no coordinator now: is the cluster up?",
    ErrorCode.REQUEST_TIMED_OUT: "the broker could not do it in time",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "not allowed on this topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "not allowed on this group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "not allowed on this cluster",
}


def code_of(error_code: int) -> ErrorCode:
    """The code as an enum; one that is newer than this client counts as an unknown error."""
    try:
        return ErrorCode(error_code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def broker_error(error_code: int, what: str, message: str | None = None) -> BrokerError:
    """The exception for a code about `what`, such as "topic orders".

    The broker's own message is kept, since it knows more than the table of fixes.
    """
    code = code_of(error_code)
    parts = [message.rstrip(".")] if message else []
    if code in _FIXES:
        parts.append(_FIXES[code])
    explanation = ". ".join(parts) if parts else f"error {error_code}"
    return BrokerError(code, f"{what}: {code.name}: {explanation}")


def check(error_code: int, what: str, message: str | None = None) -> None:
    """Raise unless the code is NONE."""
    if error_code:
        raise broker_error(error_code, what, message)
