"""Everything the client raises, as one tree.

`retriable` says whether doing the same again may help. Messages name the fix wherever there is one,
because they are what the user of a command line sees.
"""

import re
from typing import NamedTuple

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
    def without_controller(cls, addresses: str) -> "BrokerUnreachable":
        """A broker is there, and waits for others before it serves anybody."""
        return cls(
            f"the node at {addresses} is up, but waits for a controller: a majority of the voters "
            "must be up. Its log says for whom it waits"
        )

    @classmethod
    def of_node(cls, node_id: int, address: str, reason: str) -> "BrokerUnreachable":
        """A broker does not answer where others do, so it is most likely not running."""
        return cls(
            f"broker {node_id} at {address} cannot be reached ({reason}): is node {node_id} down? "
            "See `barnabas cluster status`"
        )

    @classmethod
    def at_advertised(
        cls, node_id: int, address: str, reason: str, *, resolved: bool = True
    ) -> "BrokerUnreachable":
        """The cluster was reached, but no broker is where it says it is."""
        down = f"is node {node_id} down? If not, " if resolved else ""
        return cls(
            f"broker {node_id} says it is at {address}, and that cannot be reached ({reason}): "
            f"{down}start it with --advertise HOST:PORT (advertised.listeners), an address that "
            "its clients can reach"
        )


class HostUnknown(BrokerUnreachable):
    """An address whose host has no meaning here."""


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


class RecordTooLarge(InvalidArgument):
    """A record that makes a larger request than a broker reads."""


class ClientClosed(BarnabasError):  # noqa: N818 - says what is wrong
    """A client that was closed is used again, or was closed by somebody else meanwhile."""


class UsedAfterFork(BarnabasError):  # noqa: N818 - says what is wrong
    """A client is used in a child process that did not make it."""


class WaitsForItself(BarnabasError):  # noqa: N818 - says what is wrong
    """A callback called something that can only go on when the callback is over."""


class BrokerError(BarnabasError):
    """A broker answered with an error code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = code.retriable


class ProducerFenced(BarnabasError):  # noqa: N818 - says what is wrong
    """This producer's transactional id is another's now; nothing it does counts any more."""

    @classmethod
    def of(cls, transactional_id: str) -> "ProducerFenced":
        return cls(
            f"transactional id {transactional_id}: another producer has taken it over, or a "
            "transaction took longer than its timeout; what was not committed is rolled back. "
            "Make a new producer, if this one should go on"
        )


class TransactionAborted(BarnabasError):  # noqa: N818 - says what is wrong
    """A transaction that had to be rolled back; nothing of it will be seen.

    `retriable` says whether another one with the same records may succeed.
    """

    retriable = True

    @classmethod
    def because(cls, reason: BarnabasError) -> "TransactionAborted":
        aborted = cls(f"the transaction is rolled back: {reason}")
        if isinstance(reason, BrokerError):
            aborted.retriable = reason.retriable or reason.code in _TRANSACTION_ANEW
        return aborted


class CommitUncertain(BarnabasError):  # noqa: N818 - says what is wrong
    """A commit that nobody confirmed in time: it may have happened, as a whole, or not at all.

    A new producer with the same transactional id settles it: once it is ready, either all is there
    to be read or nothing is.
    """


# What another transaction does not suffer from: the producer or the group has moved on meanwhile.
_TRANSACTION_ANEW = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)


class _Meaning(NamedTuple):
    """What a code means to a user; without an explanation, the broker's own message stands."""

    explanation: str | None
    fix: str | None = None


_MEANINGS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _Meaning(
        "it does not exist",
        "see `barnabas topics list`, or make it with `barnabas topics create`",
    ),
    ErrorCode.TOPIC_ALREADY_EXISTS: _Meaning(
        "it exists already", "--if-not-exists makes that no error"
    ),
    ErrorCode.MESSAGE_TOO_LARGE: _Meaning(
        None,
        "raise max.message.bytes with `barnabas configs set topic NAME max.message.bytes=N`",
    ),
    ErrorCode.RECORD_LIST_TOO_LARGE: _Meaning(None, "send less at once, or raise segment.bytes"),
    ErrorCode.NOT_ENOUGH_REPLICAS: _Meaning(
        "too few replicas are in sync", "see `barnabas topics describe` and min.insync.replicas"
    ),
    ErrorCode.LEADER_NOT_AVAILABLE: _Meaning("it has no leader now", "are all its brokers up?"),
    ErrorCode.NOT_CONTROLLER: _Meaning(
        "the cluster has no controller now", "are most of its voters up?"
    ),
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: _Meaning(
        "its preferred replica is not in sync, or not there", "see `barnabas cluster status`"
    ),
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: _Meaning(
        "none of its replicas may lead", "start the nodes that keep them"
    ),
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: _Meaning("it is not being moved"),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: _Meaning(
        "it has no coordinator now", "are all brokers up?"
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: _Meaning("its last transaction is still being ended"),
    ErrorCode.INVALID_TXN_STATE: _Meaning("that cannot be done in the state of its transaction"),
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: _Meaning(
        "the cluster does not know this producer",
        "it was idle for longer than transactional.id.expiration.ms; make a new one",
    ),
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: _Meaning(
        "the timeout is longer than the broker allows",
        "choose a shorter one, or raise transaction.max.timeout.ms there",
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
    ErrorCode.INVALID_PARTITIONS: _Meaning(None, "partitions can be added, never taken away"),
    ErrorCode.INVALID_TOPIC_EXCEPTION: _Meaning(
        None, "a name has 1 to 249 letters, digits, '.', '_' and '-'"
    ),
    ErrorCode.NON_EMPTY_GROUP: _Meaning("it has members", "stop its consumers first"),
    ErrorCode.GROUP_ID_NOT_FOUND: _Meaning("it does not exist", "see `barnabas groups list`"),
    ErrorCode.UNKNOWN_MEMBER_ID: _Meaning(
        "the group does not know this member", "if it has other members, stop them first"
    ),
    ErrorCode.TOPIC_DELETION_DISABLED: _Meaning(
        "the broker forbids to delete it", "set delete.topic.enable=true there"
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: _Meaning(
        "the log holds no such offset", "see `barnabas topics describe`"
    ),
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: _Meaning(
        None, "choose another compression, the broker does not know this one"
    ),
    ErrorCode.KAFKA_STORAGE_ERROR: _Meaning("the broker cannot use its disk", "is it full?"),
    ErrorCode.REQUEST_TIMED_OUT: _Meaning("the broker could not do it in time"),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _Meaning("not allowed on this topic"),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: _Meaning("not allowed on this group"),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _Meaning("not allowed on this cluster"),
}
_UNEXPLAINED = _Meaning(None)
_SETTING = re.compile(r"\b[a-z]+(?:\.[a-z]+){2,}\b")


def code_of(error_code: int) -> ErrorCode:
    """The code as an enum; one that is newer than this client counts as an unknown error."""
    try:
        return ErrorCode(error_code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def broker_error(error_code: int, what: str, message: str | None = None) -> BrokerError:
    """The exception for a code about `what`, such as "topic orders".

    Our fix is a guess from the code. A broker that names a setting itself knows better.
    """
    code = code_of(error_code)
    meaning = _MEANINGS.get(code, _UNEXPLAINED)
    explanation = meaning.explanation or (message or "refused by the broker").rstrip(".")
    name = code.name if code == error_code else str(error_code)
    told = meaning.explanation is None and _SETTING.search(explanation)
    fix = f"; {meaning.fix}" if meaning.fix and not told else ""
    return BrokerError(code, f"{what}: {explanation} ({name}){fix}")


def check(error_code: int, what: str, message: str | None = None) -> None:
    """Raise unless the code is NONE."""
    if error_code:
        raise broker_error(error_code, what, message)


def worth_retrying(error: BarnabasError) -> bool:
    """Whether another attempt may help, except that what does not exist is taken as final."""
    if isinstance(error, BrokerError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return False
    return error.retriable


def is_busy(error: BarnabasError) -> bool:
    """Whether everybody is in their place, and a transaction's end is only being written down."""
    return isinstance(error, BrokerError) and error.code is ErrorCode.CONCURRENT_TRANSACTIONS
