"""What the errors mean that a producer gets in a transaction."""

from barnabas.sim.checks.history import Violation
from barnabas.sim.client import TryAgain
from barnabas.wire.errors import ErrorCode


class Fenced(Exception):  # noqa: N818 - what has happened
    """This instance is fenced: another one has replaced it, or it took too long."""


class Abortable(Exception):  # noqa: N818 - what to do
    """This transaction can't be committed."""


class GivenUp(Exception):  # noqa: N818 - what has happened
    """The instance stops with something under way, as one that is killed."""


_PASSES = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
_FENCED = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
_ABORTABLE = frozenset({ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE})


def check(code: ErrorCode, what: str) -> None:
    if code in _PASSES:
        raise TryAgain(f"{what}: {code.name}")
    if code in _FENCED:
        raise Fenced(f"{what}: {code.name}")
    if code in _ABORTABLE:
        raise Abortable(f"{what}: {code.name}")
    if code is not ErrorCode.NONE:
        raise Violation(f"{code.name} for {what}")
