"""Results that were not delivered: because of themselves, or because of the cluster.

A result that is too large, that a topic refuses, or whose topic does not exist is a failure of the
record that it comes from, as an exception of the handler is. What would hit any other result as
well, such as brokers that do not answer, is not: the application stops, and the record is read
again.
"""

from barnabas.errors import BarnabasError, BrokerError, DeliveryFailed, InvalidArgument
from barnabas.wire.errors import ErrorCode

_OF_RECORD = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)


class SinkFailed(Exception):  # noqa: N818 - it never leaves the application
    """Nothing can be sent; `error` is why."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def is_of_record(error: BaseException) -> bool:
    """Whether a result was refused because of what it is, or where it should go."""
    if isinstance(error, DeliveryFailed):
        return is_of_record(error.first)
    if isinstance(error, BrokerError):
        return error.code in _OF_RECORD
    return isinstance(error, InvalidArgument) or not isinstance(error, BarnabasError)
