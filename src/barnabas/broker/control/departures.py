"""Brokers that have just gone, or seem to have: what clients see meanwhile.

A client that loses its leader asks at once who leads now, and gets there before the controller has
decided. If it gets the old leader once more, it waits long before it asks again. So a response that
names a broker whose connections have just broken waits until the controller has decided, a second
at most. The client may even get here before this node knows that they have broken: one that has
been here for a while and asks again waits a moment in any case.

A broker that is gone stays in the list of brokers for a moment. librdkafka drops everything it has
for a broker that is missing there, in-flight messages and the news of their new leader included,
and then needs a second to find its way. But not for long: as long as the broker is listed,
librdkafka remembers its failed attempts to connect, and backs off up to ten seconds.
"""

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Iterable

from barnabas.broker.runtime.clock import Clock
from barnabas.metadata.image import BrokerImage, MetadataImage

_SETTLED_AFTER_MS = 1_000
_A_MOMENT_S = 0.02
_A_WHILE_S = 1.0
_LOOK_AGAIN_S = 0.05
_LISTED_FOR_MS = 1_000
_SILENT_FOR_MS = 10_000


class Departures:
    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        image: MetadataImage,
        is_connected: Callable[[int], bool],
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._image = image
        self._is_connected = is_connected
        self._lost_ms: dict[int, int] = {}
        self._fenced_ms: dict[int, int] = {}
        self._was_fenced: dict[int, bool] = {}
        self._waiting: list[Future[None]] = []
        self._timer: TimerHandle | None = None

    def lost(self, node_id: int) -> None:
        """A node has closed a connection."""
        self._lost_ms[node_id] = self._clock.steady_ms()

    def silent(self) -> Iterable[int]:
        """Nodes that have just closed a connection and to which there is none now.

        An old event does not count: it may have been the close of an idle connection.
        """
        latest_ms = self._clock.steady_ms() - _SILENT_FOR_MS
        return [
            node_id
            for node_id, lost_ms in self._lost_ms.items()
            if lost_ms > latest_ms and not self._is_connected(node_id)
        ]

    def brokers_changed(self) -> None:
        """The image has other brokers, or other fenced brokers."""
        now_ms = self._clock.steady_ms()
        for broker in self._image.brokers.values():
            if broker.fenced and self._was_fenced.get(broker.id) is False:
                self._fenced_ms[broker.id] = now_ms
        self._was_fenced = {broker.id: broker.fenced for broker in self._image.brokers.values()}
        self._check()

    def is_listed(self, broker: BrokerImage) -> bool:
        """Whether clients see the broker in metadata: it is up, or was a moment ago."""
        if not broker.fenced:
            return True
        fenced_ms = self._fenced_ms.get(broker.id)
        return fenced_ms is not None and self._clock.steady_ms() - fenced_ms < _LISTED_FOR_MS

    # -- waiting ---------------------------------------------------------------------------------

    def settled(self, asked_after_s: float) -> "Future[None] | None":
        """A future to wait for while a broker seems to be gone; None if no broker does.

        The client has been connected for `asked_after_s`.
        """
        is_unsettled = bool(self._lost_ms) and self._is_unsettled()
        asks_again = asked_after_s > _A_WHILE_S and len(self._image.brokers) > 1
        if not is_unsettled and not asks_again:
            return None
        future: Future[None] = self._loop.create_future()
        self._loop.call_later(_A_MOMENT_S, self._wait, future)
        return future

    def _wait(self, future: "Future[None]") -> None:
        self._waiting.append(future)
        self._check()

    def _is_unsettled(self) -> bool:
        latest_ms = self._clock.steady_ms() - _SETTLED_AFTER_MS
        return any(
            lost_ms > latest_ms and self._seems_to_lead(node_id)
            for node_id, lost_ms in self._lost_ms.items()
        )

    def _seems_to_lead(self, node_id: int) -> bool:
        broker = self._image.brokers.get(node_id)
        return broker is not None and not broker.fenced and not self._is_connected(node_id)

    def _look_again(self) -> None:
        self._timer = None
        self._check()

    def _check(self) -> None:
        if not self._waiting:
            return
        if self._is_unsettled():
            if self._timer is None:
                self._timer = self._loop.call_later(_LOOK_AGAIN_S, self._look_again)
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
