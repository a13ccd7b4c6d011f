"""The client instances that push metrics: when each may ask and push again.

Refusals are Kafka's. Instances are forgotten after three intervals without a request, and the one
that was quiet for longest when there are too many.
"""

from barnabas.broker.telemetry.subscriptions import Wanted
from barnabas.wire.errors import ErrorCode

MAX_INSTANCES = 16_384
"""As in Kafka."""
_KEPT_INTERVALS = 3
_KEPT_MS = 60_000

_ASK_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""After these a client asks for its subscription at once."""


class ClientInstance:
    __slots__ = (
        "_asked_ms",
        "_error",
        "_may_push",
        "_pushed_ms",
        "generation",
        "is_terminating",
        "wanted",
    )

    def __init__(self, wanted: Wanted, generation: int) -> None:
        """The client's names are not kept: it chooses how long they are."""
        self.wanted = wanted
        self.generation = generation
        """Of the subscriptions from which `wanted` was made."""
        self.is_terminating = False
        self._asked_ms = self._pushed_ms = -1
        self._error = ErrorCode.NONE
        self._may_push = True
        """Whether it may push at once: it has not pushed since it has asked."""

    @property
    def last_ms(self) -> int:
        return max(self._asked_ms, self._pushed_ms)

    def is_over(self, now_ms: int) -> bool:
        kept_ms = _KEPT_MS  # after its end, so that the last values are scraped
        if not self.is_terminating:
            kept_ms = max(kept_ms, _KEPT_INTERVALS * self.wanted.interval_ms)
        return now_ms - self.last_ms > kept_ms

    def ask(self, now_ms: int) -> ErrorCode:
        """The client asks for its subscription."""
        last_ms = self.last_ms
        if (
            last_ms >= 0
            and now_ms - last_ms < self.wanted.interval_ms
            and self._error not in _ASK_AGAIN
        ):
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self._asked_ms = now_ms
        self._may_push = True
        self._error = ErrorCode.NONE
        return ErrorCode.NONE

    def push(
        self,
        subscription_id: int,
        now_ms: int,
        *,
        is_terminating: bool,
        is_compression_known: bool,
        is_too_large: bool,
    ) -> ErrorCode:
        """The client pushes: NONE if it may."""
        error = self._push_error(
            subscription_id, now_ms, is_terminating, is_compression_known, is_too_large
        )
        self._error = error
        if error is ErrorCode.NONE:
            self.is_terminating = is_terminating
        return error

    def _push_error(
        self,
        subscription_id: int,
        now_ms: int,
        is_terminating: bool,
        is_compression_known: bool,
        is_too_large: bool,
    ) -> ErrorCode:
        if self.is_terminating:
            return ErrorCode.INVALID_REQUEST
        is_due = self._may_push or now_ms - self._pushed_ms >= self.wanted.interval_ms
        if not is_due and not is_terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self._pushed_ms = now_ms
        self._may_push = False
        if subscription_id != self.wanted.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if not is_compression_known:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if is_too_large:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE
