"""One request of a client that has limits.

A client that is over a limit is answered at once, with the throttle time, and its connection is
muted: nothing is read from it until that time is over. A fetch is answered without records.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, TypeVar

from barnabas.broker.quotas.limited_client import LimitedClient
from barnabas.broker.quotas.throttle_times import ThrottleTimes
from barnabas.wire.framing import OnErrors, RequestHeader, encode_response
from barnabas.wire.message import Response
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.share_fetch import ShareFetchResponse
from barnabas.wire.primitives import Buffer

ArgumentT = TypeVar("ArgumentT")

_FETCH = FetchRequest.API_KEY
_PRODUCE = ProduceRequest.API_KEY


class Mutable(Protocol):
    def mute(self, throttle_ms: int, now_ms: Callable[[], int]) -> None:
        """Read nothing for a while."""


class RequestQuota:
    __slots__ = (
        "_api_key",
        "_began",
        "_connection",
        "_now_ms",
        "_now_s",
        "_throttled",
        "client",
        "is_brief",
        "throttle_ms",
    )

    def __init__(
        self,
        client: LimitedClient,
        connection: Mutable,
        now_ms: Callable[[], int],
        now_s: Callable[[], float],
        throttled: ThrottleTimes | None = None,
    ) -> None:
        """Throttle times are counted in `throttled`."""
        self.client = client
        self._api_key = -1
        self._throttled = throttled
        self._connection = connection
        self._now_ms = now_ms
        self._now_s = now_s
        self._began = now_s()
        self.throttle_ms = 0
        self.is_brief = False
        """A Produce within its limits that is stored in one turn: it may take the short cut, and
        its answer needs nothing. If it takes several turns, `continues` is called."""

    def arrived(self, api_key: int, produced_ms: int) -> None:
        """Decide whether the request is throttled; a fetch is when it is answered.

        `produced_ms` is the throttle time of the bytes that it produces.
        """
        self._api_key = api_key
        if api_key == _FETCH:
            return
        throttle_ms = max(produced_ms, self.client.request_throttle_ms(self._now_ms()))
        if throttle_ms:
            self.throttle(throttle_ms)
        elif api_key == _PRODUCE:
            self.is_brief = True

    def continues(self) -> None:
        """The request takes several turns: all of them are counted, and its answer as well."""
        self.is_brief = False

    def throttle(self, throttle_ms: int) -> None:
        if not self.throttle_ms and self._throttled is not None:
            self._throttled.add(self._api_key, throttle_ms)
        self.throttle_ms = max(self.throttle_ms, throttle_ms)
        self._connection.mute(throttle_ms, self._now_ms)

    # -- fetches -----------------------------------------------------------------------------------

    def is_fetch_throttled(self) -> bool:
        """Called when the answer of a fetch is due: whether it has to be empty."""
        now_ms = self._now_ms()
        client = self.client
        throttle_ms = max(client.fetch_throttle_ms(now_ms), client.request_throttle_ms(now_ms))
        if throttle_ms:
            self.throttle(throttle_ms)
        return throttle_ms > 0

    # -- changes of topics -------------------------------------------------------------------------

    def take_mutations(self, count: int) -> None:
        self.client.take_mutations(count, self._now_ms())

    def mutation_throttle_ms(self) -> int:
        return self.client.mutation_throttle_ms(self._now_ms())

    # -- the answer --------------------------------------------------------------------------------

    def encode(
        self, response: Response, header: RequestHeader, on_errors: OnErrors | None = None
    ) -> list[Buffer]:
        response = self.throttled(response)
        answer = encode_response(response, header.api_version, header.correlation_id, on_errors)
        self.encoded(response, answer)
        return answer

    def throttled(self, response: Response) -> Response:
        """The response with the throttle time."""
        if not self.throttle_ms or "throttle_time_ms" not in response.__slots__:
            return response
        throttled: Any = copy(response)  # it may be one that many requests get
        throttled.throttle_time_ms = max(self.throttle_ms, throttled.throttle_time_ms)
        made: Response = throttled
        return made

    def encoded(self, response: Response, answer: list[Buffer]) -> None:
        """Count what was fetched."""
        if isinstance(response, FetchResponse | ShareFetchResponse):
            self.client.fetched(sum(map(len, answer)), self._now_ms())

    # -- time --------------------------------------------------------------------------------------

    def resumed(self) -> None:
        """The broker works on the request again, until `paused`."""
        self._began = self._now_s()

    def paused(self) -> None:
        """The broker stops working on the request, for good or until `timed` or `resumed`."""
        self.client.worked(self._now_s() - self._began, self._now_ms())

    def timed(self, step: Callable[[ArgumentT], None]) -> Callable[[ArgumentT], None]:
        """A later step of the work."""

        def work(argument: ArgumentT) -> None:
            self.resumed()
            step(argument)
            self.paused()

        return work
