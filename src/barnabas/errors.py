"""Everything that clients raise, as one tree: `except BarnabasError` catches it all.

Messages say what is wrong with what, and what to do about it wherever that is known. `retriable`
says whether doing the same again may help; clients have done so for a while before they raise.

Only wrong types are TypeErrors, as everywhere in Python. A value that can't be right is an
`InvalidArgument`, which is a ValueError too.
"""

from typing import Any

from barnabas.wire.errors import ErrorCode

__all__ = [
    "AdvertisedAddressUnreachable",
    "BarnabasError",
    "BrokerError",
    "BrokerUnreachable",
    "ClientClosed",
    "CommitUncertain",
    "ConnectionLost",
    "ConsumerBroken",
    "CorruptRecords",
    "DataLost",
    "DeliveryFailed",
    "DeliveryTimedOut",
    "ErrorCode",
    "GroupNotEmpty",
    "HostUnknown",
    "InvalidArgument",
    "NobodyListens",
    "NotAuthorized",
    "NotEnoughReplicas",
    "OffsetOutOfRange",
    "ProducerBroken",
    "ProducerFenced",
    "ProtocolMismatch",
    "RecordTooLarge",
    "RefusedAsTooLarge",
    "RequestTimedOut",
    "TopicExists",
    "TransactionAborted",
    "UndecodableRecord",
    "UnknownGroup",
    "UnknownTopic",
    "UsedAfterFork",
    "WaitsForItself",
]


class BarnabasError(Exception):
    """The root of the tree."""

    retriable = False

    def __reduce__(self) -> tuple[Any, ...]:
        """To be pickled as it is, whatever it was made from: worker processes send their errors."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[BarnabasError], args: tuple[Any, ...], state: dict[str, Any]
) -> BarnabasError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class BrokerUnreachable(BarnabasError):
    """No connection could be made to the address the user gave, or to one that a broker gave."""

    retriable = True

    @classmethod
    def at_bootstrap(cls, tried: list[tuple[str, BarnabasError]]) -> "BrokerUnreachable":
        """None of the bootstrap addresses answered; `tried` holds each with its reason."""
        reasons = "; ".join(f"{address} ({reason})" for address, reason in tried)
        return _in_common(cls, tried)(
            f"cannot reach a broker at {reasons}: is `barnabas server` running there? "
            "If it is elsewhere, give its HOST:PORT (bootstrap_servers, on the command line "
            "--bootstrap)"
        )

    @classmethod
    def any_more(cls, tried: list[tuple[str, BarnabasError]]) -> "BrokerUnreachable":
        """A cluster was there, and none of its brokers answers now."""
        reasons = "; ".join(f"{address} ({reason})" for address, reason in tried)
        return _in_common(cls, tried)(
            f"the cluster cannot be reached any more, at {reasons}: are its brokers up, and the "
            "network between?"
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
        cls, node_id: int, address: str, reason: str, *, resolved: bool = True, final: bool = False
    ) -> "BrokerUnreachable":
        """The cluster was reached, but no broker is where it says; `final`: nor will one be."""
        down = f"is node {node_id} down? If not, " if resolved else ""
        error = AdvertisedAddressUnreachable(
            f"broker {node_id} says it is at {address}, and that cannot be reached ({reason}): "
            f"{down}start it with --advertise HOST:PORT (advertised.listeners), an address that "
            "its clients can reach"
        )
        error.retriable = not final
        return error


class HostUnknown(BrokerUnreachable):
    """None of the addresses has a host that means something here."""


class NobodyListens(BrokerUnreachable):
    """The connection is refused at all addresses: no broker is up, or not yet."""


def _in_common(
    otherwise: type[BrokerUnreachable], tried: list[tuple[str, BarnabasError]]
) -> type[BrokerUnreachable]:
    """What is wrong with all addresses, if it is the same."""
    for kind in (HostUnknown, NobodyListens):
        if tried and all(isinstance(reason, kind) for _, reason in tried):
            return kind
    return otherwise


class AdvertisedAddressUnreachable(BrokerUnreachable):
    """The cluster was reached, but a broker is not where it says it is.

    Kafka's best-known trap: brokers tell clients their own addresses, and from where the client
    stands, such as another host or outside a container, these may lead nowhere. The broker has to
    advertise an address that its clients can reach.
    """


class ConnectionLost(BarnabasError):
    """The connection broke while a request was under way; it may have been carried out."""

    retriable = True


class RequestTimedOut(BarnabasError):
    """A broker accepted a request and did not answer in time (request_timeout_ms)."""

    retriable = True


class DeliveryTimedOut(BarnabasError):
    """A record could not be delivered in the time it was given (delivery_timeout_ms)."""


class DeliveryFailed(BarnabasError):
    """Records were given up, and nobody had asked what became of them.

    `count` says how many, `first` why the first of them was given up; it is the cause as well.
    """

    def __init__(self, count: int, first: BarnabasError) -> None:
        records = "1 record was" if count == 1 else f"{count} records were"
        super().__init__(f"{records} not delivered, the first because of this: {first}")
        self.count = count
        self.first = first
        self.retriable = first.retriable
        self.__cause__ = first


class ProducerBroken(BarnabasError):
    """A mistake in the producer itself, or in what it was given; it sends no more."""

    @classmethod
    def by(cls, cause: BaseException) -> "ProducerBroken":
        broken = cls(
            "the producer is broken, and what it had not delivered is lost "
            f"({type(cause).__name__}: {cause}): make a new one"
        )
        broken.__cause__ = cause
        return broken


class ConsumerBroken(BarnabasError):
    """A mistake in the consumer itself; it reads no more."""

    @classmethod
    def by(cls, cause: BaseException) -> "ConsumerBroken":
        broken = cls(
            f"the consumer is broken ({type(cause).__name__}: {cause}), nothing is lost: make a "
            "new one, and report this"
        )
        broken.__cause__ = cause
        return broken


class ProtocolMismatch(BarnabasError):
    """The other side does not speak Kafka, or no version of a request that both sides know."""


class CorruptRecords(BarnabasError):
    """Fetched records that cannot be decoded."""


class UndecodableRecord(BarnabasError):
    """A record's key or value is not what key_format or value_format expects.

    `message` is the record as it is, with bytes for its key and value. It is raised again and again
    until the application seeks past the record, to `error.message.offset + 1`.
    """

    def __init__(self, message: Any, what: str, reason: BaseException) -> None:
        super().__init__(
            f"the {what} of {message.topic}-{message.partition} at offset {message.offset} cannot "
            f"be decoded ({type(reason).__name__}: {reason}): is {what}_format right? To go on "
            "without this record, seek past it"
        )
        self.message = message
        self.__cause__ = reason


class DataLost(BarnabasError):
    """A consumer's position is no longer in the log: records were deleted before it read them.

    Retention or a topic made anew does that. on_data_loss says what to do instead of raising.
    """


class InvalidArgument(BarnabasError, ValueError):
    """Something that no broker needs to be asked about: it cannot be right."""


class RecordTooLarge(InvalidArgument):
    """A record that is larger than a request may be, or than the topic's max.message.bytes."""


class ClientClosed(BarnabasError):
    """A client that was closed is used again, or was closed by somebody else meanwhile."""


class UsedAfterFork(BarnabasError):
    """A client is used in a child process that did not make it."""


class WaitsForItself(BarnabasError):
    """A callback called something that can only go on when the callback is over."""


class BrokerError(BarnabasError):
    """A broker answered with an error code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = code.retriable


class UnknownTopic(BrokerError):
    """There is no such topic, or it has no such partition."""


class TopicExists(BrokerError):
    """There is such a topic already."""


class UnknownGroup(BrokerError):
    """There is no such group."""


class GroupNotEmpty(BrokerError):
    """What only a group without members allows, was asked of one that has some."""


class OffsetOutOfRange(BrokerError):
    """The log holds no such offset."""


class NotEnoughReplicas(BrokerError):
    """Too few replicas are in sync for acks="all", by min.insync.replicas."""


class NotAuthorized(BrokerError):
    """The broker does not allow it."""


class RefusedAsTooLarge(BrokerError, RecordTooLarge):
    """The broker refused a batch because of its size; see `RecordTooLarge`."""


class ProducerFenced(BarnabasError):
    """This producer's transactional id is another's now; nothing it does counts any more."""

    @classmethod
    def of(cls, transactional_id: str) -> "ProducerFenced":
        return cls(
            f"transactional id {transactional_id}: another producer has taken it over, or a "
            "transaction took longer than its timeout; what was not committed is rolled back. "
            "Make a new producer, if this one should go on"
        )


class TransactionAborted(BarnabasError):
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


class CommitUncertain(BarnabasError):
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
