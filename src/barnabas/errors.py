"""All exceptions that clients raise, in one hierarchy: `except BarnabasError` catches them all.

Messages say what is wrong, with the values, and what to do where that is known. `retriable` says
whether a retry may help; clients have retried for a while before they raise.

Wrong types raise TypeError, as everywhere in Python. An invalid value raises `InvalidArgument`,
which is also a ValueError.
"""

from typing import TYPE_CHECKING, Any

from barnabas.quantities import agreeing, counted
from barnabas.wire.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.records.message import Message

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
    "GiveUp",
    "GroupNotEmpty",
    "HandlerFailed",
    "HandshakeFailed",
    "HostUnknown",
    "InvalidArgument",
    "JobFailed",
    "LockLost",
    "NobodyListens",
    "NotAuthorized",
    "NotEnoughReplicas",
    "OffsetOutOfRange",
    "ProducerBroken",
    "ProducerFenced",
    "ProtocolMismatch",
    "RecordTooLarge",
    "RefusedAsTooLarge",
    "RegistryUnreachable",
    "RequestTimedOut",
    "RetryAfter",
    "SignInFailed",
    "StateLost",
    "TableNotLoaded",
    "TopicExists",
    "TransactionAborted",
    "UndecodableRecord",
    "UnknownGroup",
    "UnknownTopic",
    "UsedAfterFork",
    "ValidationFailed",
    "WaitsForItself",
]


class BarnabasError(Exception):
    """The base class of all errors."""

    retriable = False
    cluster = ""
    """The name of the cluster that it is about, where a program uses several, as a mirror does."""

    def __str__(self) -> str:
        said = super().__str__()
        return f"cluster {self.cluster}: {said}" if self.cluster else said

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
    """No connection to the bootstrap servers, or to the address that a broker advertises."""

    retriable = True
    is_connected = False
    """Whether something accepted the connection, and did not answer."""

    @classmethod
    def at_bootstrap(cls, tried: list[tuple[str, BarnabasError]]) -> "BrokerUnreachable":
        """None of the bootstrap addresses answered; `tried` holds each with its reason."""
        reasons = _with_reasons(tried)
        if _in_common(cls, tried) is HandshakeFailed:
            return HandshakeFailed(
                f"no secure connection to a broker at {reasons}: check security.protocol and the "
                "certificates (ssl.*)"
            )
        if _in_common(cls, tried) is SignInFailed:
            return SignInFailed(
                f"cannot sign in to the cluster at {reasons}: check sasl.mechanism, sasl.username "
                "and sasl.password"
            )
        if tried and all(isinstance(e, BrokerUnreachable) and e.is_connected for _, e in tried):
            return cls(f"no broker answers at {reasons}")
        return _in_common(cls, tried)(
            f"cannot reach a broker at {reasons}: is `barnabas server` running there? "
            "If it is elsewhere, give its HOST:PORT (bootstrap_servers, on the command line "
            "--bootstrap)"
        )

    @classmethod
    def any_more(cls, tried: list[tuple[str, BarnabasError]]) -> "BrokerUnreachable":
        """A cluster was there, and none of its brokers answers now."""
        reasons = _with_reasons(tried)
        error = _in_common(cls, tried)(
            f"the cluster can no longer be reached, at {reasons}: check that its brokers and the "
            "network are up"
        )
        error.retriable = True  # certificates and passwords are replaced one after the other
        return error

    @classmethod
    def without_controller(cls, addresses: str) -> "BrokerUnreachable":
        """A broker is there, and waits for others before it serves anybody."""
        return cls(
            f"the node at {addresses} is up, but waits for a controller: a majority of the voters "
            "must be up. Its log names the nodes it waits for"
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
    """No host name of the bootstrap servers can be resolved."""


class HandshakeFailed(BrokerUnreachable):
    """No secure connection: a certificate is not valid or not trusted, or the broker has no TLS."""

    retriable = False


class SignInFailed(BrokerUnreachable):
    """The broker did not accept the user and password, or the mechanism."""

    retriable = False


class NobodyListens(BrokerUnreachable):
    """All addresses refuse the connection: no broker is running there yet."""


def _with_reasons(tried: list[tuple[str, BarnabasError]]) -> str:
    """The addresses, each with its reason; a reason that several have is said once."""
    addresses: dict[str, list[str]] = {}
    for address, reason in tried:
        addresses.setdefault(str(reason), []).append(address)
    return "; ".join(f"{', '.join(each)} ({reason})" for reason, each in addresses.items())


def _in_common(
    otherwise: type[BrokerUnreachable], tried: list[tuple[str, BarnabasError]]
) -> type[BrokerUnreachable]:
    """What is wrong with all addresses, if it is the same."""
    for kind in (HostUnknown, NobodyListens, HandshakeFailed, SignInFailed):
        if tried and all(isinstance(reason, kind) for _, reason in tried):
            return kind
    return otherwise


class AdvertisedAddressUnreachable(BrokerUnreachable):
    """The cluster was reached, but a broker is not reachable at its advertised address.

    Brokers advertise addresses, which may be wrong for the client, for instance on another host or
    outside a container. The broker has to advertise an address that its clients can
    reach.
    """


class ConnectionLost(BarnabasError):
    """The connection broke during a request, which may have been carried out."""

    retriable = True


class RequestTimedOut(BarnabasError):
    """A broker did not answer a request in time (request_timeout_ms)."""

    retriable = True


class DeliveryTimedOut(BarnabasError):
    """A record was not delivered in time (delivery_timeout_ms)."""


class DeliveryFailed(BarnabasError):
    """Records were not delivered, and the application did not wait for their results.

    `count` is their number, `first` the error of the first one, which is also the cause.
    """

    def __init__(self, count: int, first: BarnabasError) -> None:
        records = f"{counted(count, 'record')} {agreeing(count, 'was', 'were')}"
        super().__init__(f"{records} not delivered, the first because of this: {first}")
        self.count = count
        self.first = first
        self.retriable = first.retriable
        self.__cause__ = first


class ProducerBroken(BarnabasError):
    """An internal error of the producer, or in a function it was given; it can't be used again."""

    @classmethod
    def by(cls, cause: BaseException) -> "ProducerBroken":
        broken = cls(
            "the producer is broken, and what it had not delivered is lost "
            f"({type(cause).__name__}: {cause}): make a new one"
        )
        broken.__cause__ = cause
        return broken


class ConsumerBroken(BarnabasError):
    """An internal error of the consumer; it can't be used again."""

    @classmethod
    def by(cls, cause: BaseException) -> "ConsumerBroken":
        broken = cls(
            f"the consumer is broken ({type(cause).__name__}: {cause}), nothing is lost: make a "
            "new one, and report this"
        )
        broken.__cause__ = cause
        return broken


class ProtocolMismatch(BarnabasError):
    """The server does not speak Kafka, or has no version of a request in common with the client."""


class CorruptRecords(BarnabasError):
    """A fetched batch is corrupt."""


class UndecodableRecord(BarnabasError):
    """A record's key or value does not match its type or format.

    `message` is the record with its key and value as bytes; `field` names what does not match, such
    as "lines[2].amount", if a type was given; `problem` says the same without advice. The error is
    raised every time, until the application seeks past the record, to `error.message.offset + 1`.
    """

    def __init__(self, message: "Message[bytes, bytes]", what: str, reason: BaseException) -> None:
        where = f"the {what} of {message.topic}-{message.partition} at offset {message.offset}"
        if isinstance(reason, ValidationFailed):
            said = f"{where} is not valid: {reason}."
            self.field = reason.field
        else:
            said = (
                f"{where} cannot be decoded ({type(reason).__name__}: {reason}): is {what}_format "
                "right?"
            )
            self.field = ""
        self.problem = said
        super().__init__(f"{said} To continue without this record, seek past it")
        self.message = message
        self.__cause__ = reason


class ValidationFailed(BarnabasError, ValueError):
    """A value does not match its declared type; `field` names the part that does not."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem

    def within(self, outer: str) -> "ValidationFailed":
        """The same, seen from what holds the field."""
        inner = self.field
        joint = "" if not inner or inner.startswith("[") else "."
        return ValidationFailed(f"{outer}{joint}{inner}", self.problem)


class RegistryUnreachable(BarnabasError):
    """The schema registry does not answer."""

    retriable = True


class HandlerFailed(BarnabasError):
    """A record could not be handled, and there is no dead-letter topic: the handler has stopped."""


class JobFailed(BarnabasError):
    """A job that was submitted has no result: it was rejected, or became a dead letter."""

    def __init__(self, job_id: str, reason: str) -> None:
        """The id of the job, and the reason as its worker gave it."""
        super().__init__(f"job {job_id} has failed: {reason}")
        self.job_id = job_id
        self.reason = reason


class GiveUp(BarnabasError):
    """For handlers to raise: no retry can succeed, so the record becomes a dead letter at once."""


class RetryAfter(BarnabasError):
    """For handlers to raise: retry the record, but not before this number of seconds."""

    def __init__(self, after_s: float, reason: str = "asked to try again later") -> None:
        """The seconds, such as those of an HTTP header Retry-After, and the reason."""
        super().__init__(f"{reason}, in {after_s:g} s")
        self.after_s = after_s


class LockLost(BarnabasError):
    """An acknowledgement was not stored, and the record may be delivered again.

    Its lock had expired, or the leader of its partition changed before it answered.
    """


class DataLost(BarnabasError):
    """A consumer's position is no longer in the log: records were deleted before it read them.

    The cause is retention, or a topic that was recreated. Set on_data_loss to continue instead.
    """


class StateLost(BarnabasError):
    """The changelog topic of a handler's state is not complete, or can't be read."""


class InvalidArgument(BarnabasError, ValueError):
    """An argument is invalid; no broker was asked."""


class RecordTooLarge(InvalidArgument):
    """A record is larger than a request may be, or than the topic's max.message.bytes."""


class ClientClosed(BarnabasError):
    """The client is closed, or was closed during the call."""


class TableNotLoaded(BarnabasError):
    """A table was used before it had read its topic; use it as a context manager."""


class UsedAfterFork(BarnabasError):
    """The client was created by the parent process; create a new one in the child."""


class WaitsForItself(BarnabasError):
    """A callback called a method that waits for the callback itself."""


class BrokerError(BarnabasError):
    """A broker answered with an error code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = code.retriable


class UnknownTopic(BrokerError):
    """The topic or partition does not exist."""


class TopicExists(BrokerError):
    """The topic exists already."""


class UnknownGroup(BrokerError):
    """The group does not exist."""


class GroupNotEmpty(BrokerError):
    """The group has members; the operation needs a group without any."""


class OffsetOutOfRange(BrokerError):
    """The offset is not in the log."""


class NotEnoughReplicas(BrokerError):
    """Fewer replicas are in sync than min.insync.replicas, which acks="all" needs."""


class NotAuthorized(BrokerError):
    """The broker denied access."""


class RefusedAsTooLarge(BrokerError, RecordTooLarge):
    """The broker refused a batch because of its size."""


class ProducerFenced(BarnabasError):
    """Another producer has taken over the transactional id; this one is fenced."""

    @classmethod
    def of(cls, transactional_id: str) -> "ProducerFenced":
        return cls(
            f"transactional id {transactional_id}: another producer has taken it over, or a "
            "transaction took longer than its timeout; what was not committed is rolled back. "
            "Create a new producer to continue"
        )


class TransactionAborted(BarnabasError):
    """The transaction was rolled back; nothing of it is visible.

    `retriable` says whether another transaction with the same records may succeed.
    """

    retriable = True

    @classmethod
    def because(cls, reason: BarnabasError) -> "TransactionAborted":
        aborted = cls(f"the transaction is rolled back: {reason}")
        if isinstance(reason, BrokerError):
            aborted.retriable = reason.retriable or reason.code in _TRANSACTION_ANEW
        return aborted


class CommitUncertain(BarnabasError):
    """A commit was not confirmed in time: either all of it took effect, or nothing.

    A new producer with the same transactional id settles it: once it is ready, either the whole
    transaction is visible or nothing of it.
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
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
