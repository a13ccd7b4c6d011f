"""The controller, on the node that leads the metadata log and for as long as it does.

A decision is replayed into the controller's own image at once, so that the next one can build on
it, and its answer is given when its records are committed. If they are not, that image is wrong:
the controller is thrown away, and this node gives up leading.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.broker.clock import Clock
from barnabas.broker.net.connection import Connection
from barnabas.broker.quorum.outcome import NotLeader, OutcomeUnknown
from barnabas.broker.quorum.quorum import Quorum
from barnabas.controller.controller import Controller
from barnabas.controller.decision import Decision

logger = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")


class NotController(Exception):  # noqa: N818 - an expected outcome
    """This node is not the controller, or has just ceased to be it."""


class ActiveController:
    """Holds the controller if there is one here, and carries out what it decides."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        quorum: Quorum,
        new_controller: Callable[[int], Controller],
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._quorum = quorum
        self._new_controller = new_controller
        self._controller: Controller | None = None
        self._timer: TimerHandle | None = None
        self._connections: dict[int, Connection] = {}
        """The connection over which each broker was last heard of."""

    @property
    def is_active(self) -> bool:
        return self._controller is not None

    def started(self, silent: Iterable[int]) -> None:
        """This node leads now and has all that was committed before.

        `silent` are the nodes to which a connection has broken and not come back.
        """
        now_ms = self._clock.steady_ms()
        self._controller = self._new_controller(now_ms)
        self._connections.clear()
        for node_id in silent:
            self._controller.disconnected(node_id, now_ms)
        logger.info("this node is the controller now")
        self._arm()

    def stopped(self) -> None:
        """This node leads no more."""
        if self._controller is not None:
            logger.info("this node is the controller no more")
        self._controller = None
        self._connections.clear()
        self._disarm()

    async def decide(self, decide: Callable[[Controller, int], Decision[AnswerT]]) -> AnswerT:
        """Have something decided, and return the answer once it is agreed. Raises NotController."""
        controller = self._controller
        if controller is None:
            raise NotController
        decision = decide(controller, self._clock.steady_ms())
        agreed = self._propose(decision)
        self._arm()
        if agreed is not None:
            try:
                await agreed
            except (NotLeader, OutcomeUnknown):
                raise NotController from None
        return decision.answer

    def heard_from(self, broker_id: int, connection: Connection) -> None:
        """A broker has called; should that connection break, it has probably died."""
        self._connections[broker_id] = connection
        connection.on_lost = lambda: self._lost(broker_id, connection)

    def _lost(self, broker_id: int, connection: Connection) -> None:
        if self._controller is None or self._connections.get(broker_id) is not connection:
            return
        del self._connections[broker_id]
        self._controller.disconnected(broker_id, self._clock.steady_ms())
        self._arm()

    # -- carrying out ----------------------------------------------------------------------------

    def _propose(self, decision: "Decision[AnswerT]") -> "Future[None] | None":
        for warning in decision.warnings:
            logger.warning("%s", warning)
        if not decision.records:
            return None
        agreed = self._quorum.propose(decision.records)
        agreed.add_done_callback(self._settled)
        return agreed

    def _settled(self, agreed: "Future[None]") -> None:
        if agreed.cancelled() or agreed.exception() is None or self._controller is None:
            return
        logger.warning("what was decided could not be agreed on: %s", agreed.exception())
        self.stopped()
        self._quorum.resign()

    def _arm(self) -> None:
        self._disarm()
        deadline_ms = None if self._controller is None else self._controller.next_deadline_ms()
        if deadline_ms is not None:
            delay = max(0.0, (deadline_ms - self._clock.steady_ms()) / 1000)
            self._timer = self._loop.call_later(delay, self._tick)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        if self._controller is not None:
            self._propose(self._controller.tick(self._clock.steady_ms()))
            self._arm()
