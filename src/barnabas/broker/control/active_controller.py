"""The controller, on the node that leads the metadata log and for as long as it does.

A decision is replayed into the controller's own image at once, so that the next one can build on
it, and its answer is given when its records are committed; one without records, when all that it
may have built on is. If something is not committed, or a decision fails half-way, that image is
wrong: the controller is discarded, and this node resigns as leader.

The wait for a commit has a timeout. What was not committed in time may still be committed later,
for instance when the disk has room again.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, TimerHandle, shield, sleep, wait_for
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from barnabas.broker.control.initial_users import is_new_cluster
from barnabas.broker.net.connection import Connection
from barnabas.broker.quorum.outcome import NotLeader, OutcomeUnknown
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.runtime.clock import Clock
from barnabas.controller.controller import Controller
from barnabas.controller.decision import BrokerEvent, BrokerSilent, BrokerUnfenced, Decision
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER
from barnabas.wire.messages.metadata_records import UserScramCredentialRecord

logger = logging.getLogger(__name__)

_RECOVER_AGAIN_S = 0.5
"""The delay after which replicas that have not answered are asked again."""

ReplicaEndsOf = Callable[
    [MetadataImage, list[tuple[TopicImage, PartitionImage]]], Awaitable[ReplicaEnds]
]

AnswerT = TypeVar("AnswerT")


class NotController(Exception):  # noqa: N818 - an expected outcome
    """This node is not the controller, or has just stopped being it."""


class NotAgreed(Exception):  # noqa: N818 - an expected outcome
    """The change was decided, and is not committed yet. It may or may not be committed later."""


class ActiveController:
    """Holds the controller if it is here, and proposes what it decides."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        quorum: Quorum,
        new_controller: Callable[[int], Controller],
        replica_ends: ReplicaEndsOf,
        stalled_ms: Callable[[], int] = lambda: 0,
        initial_users: Sequence[UserScramCredentialRecord] = (),
    ) -> None:
        """`stalled_ms` returns how long the event loop has been stalled in total. A new cluster
        begins with `initial_users`."""
        self._loop = loop
        self._clock = clock
        self._quorum = quorum
        self._new_controller = new_controller
        self._replica_ends = replica_ends
        self._recovering: dict[tuple[bytes, int], None] = {}
        """Partitions that wait for an unclean election until their replicas have been asked."""
        self._recovery: Task[None] | None = None
        self._total_stalled_ms = stalled_ms
        self._stalled_ms = 0
        self._initial_users = initial_users
        self._controller: Controller | None = None
        self._timer: TimerHandle | None = None
        self._connections: dict[int, Connection] = {}
        """The connection over which each broker last called."""

    @property
    def is_active(self) -> bool:
        return self._controller is not None

    def started(self, silent: Iterable[int]) -> None:
        """This node is the leader now and has applied everything committed before.

        `silent` are the nodes to which a connection has broken and not come back.
        """
        now_ms = self._clock.steady_ms()
        self._controller = self._new_controller(now_ms)
        self._stalled_ms = self._total_stalled_ms()
        self._connections.clear()
        for node_id in silent:
            self._controller.disconnected(node_id, now_ms)
        logger.info("this node is the controller now")
        users = self._initial_users
        if users and is_new_cluster(self._controller.pending_image):
            self._carry_out(self._controller, lambda new, _: new.add_initial_users(users))
        self._arm()

    def stopped(self) -> None:
        """This node is no longer the leader."""
        if self._controller is not None:
            logger.info("this node is no longer the controller")
        self._controller = None
        self._connections.clear()
        self._recovering.clear()
        if self._recovery is not None:
            self._recovery.cancel()
            self._recovery = None
        self._disarm()

    async def replica_ends(
        self, choose: Callable[[MetadataImage], list[tuple[TopicImage, PartitionImage]]]
    ) -> ReplicaEnds:
        """The log ends of the replicas of chosen partitions. Raises `NotController`."""
        if self._controller is None:
            raise NotController
        image = self._controller.pending_image
        return await self._replica_ends(image, choose(image))

    async def decide(
        self,
        decide: Callable[[Controller, int], Decision[AnswerT]],
        timeout_ms: int,
        *,
        at_once: bool = False,
    ) -> AnswerT:
        """Make a decision, and return the response once it is committed.

        With `at_once`, a response that changes nothing does not wait for pending changes. Such a
        response is no proof that a majority still follows this controller, and a broker that gets
        it trusts itself for a session more: it is given only while a majority is heard. Raises
        `NotController` or `NotAgreed`.
        """
        controller = self._controller
        if controller is None or (at_once and not self._quorum.hears_majority):
            raise NotController
        decision, agreed = self._carry_out(controller, decide)
        if (decision.records or not at_once) and not _is_agreed(agreed):
            try:
                # The change is committed even if the caller is cancelled.
                await wait_for(shield(agreed), timeout_ms / 1000)
            except TimeoutError:
                raise NotAgreed(self._why_not()) from None
            except (NotLeader, OutcomeUnknown):
                raise NotController from None
        return decision.answer

    def _why_not(self) -> str:
        if self._quorum.no_room is not None:
            return f"the controller waits for room on its disk: {self._quorum.no_room}"
        return "not agreed on yet: a majority of the voters must be running"

    def heard_from(self, broker_id: int, connection: Connection) -> None:
        """A registered broker has called; if that connection breaks, the broker has probably
        died."""
        if self._controller is not None and self._connections.get(broker_id) is not connection:
            self._connections[broker_id] = connection
            connection.on_lost = lambda: self._lost(broker_id, connection)

    def hears_another(self, broker_id: int, incarnation_id: bytes) -> bool:
        """Whether another process with that id is registered, and its connection is open."""
        if self._controller is None or broker_id not in self._connections:
            return False
        broker = self._controller.pending_image.brokers.get(broker_id)
        return broker is not None and not broker.fenced and broker.incarnation_id != incarnation_id

    def _lost(self, broker_id: int, connection: Connection) -> None:
        if self._controller is None or self._connections.get(broker_id) is not connection:
            return
        del self._connections[broker_id]
        self._controller.disconnected(broker_id, self._clock.steady_ms())
        self._arm()

    # -- proposals ---------------------------------------------------------------------------------

    def _carry_out(
        self, controller: Controller, decide: Callable[[Controller, int], Decision[AnswerT]]
    ) -> "tuple[Decision[AnswerT], Future[None]]":
        """Decide and propose, both or neither."""
        stalled_ms, self._stalled_ms = self._stalled_ms, self._total_stalled_ms()
        if self._stalled_ms > stalled_ms:
            controller.stalled(self._stalled_ms - stalled_ms)
        is_whole = False
        try:
            decision = decide(controller, self._clock.steady_ms())
            agreed = self._quorum.propose(decision.records)
            is_whole = True
        finally:
            if not is_whole:  # a bug: the error goes on to where bugs are reported
                self._give_up("a decision has failed")
        for warning in decision.warnings:
            logger.warning("%s", warning)
        for event in decision.broker_events:
            _log_broker(event)
        if decision.records:
            agreed.add_done_callback(self._settled)
        if decision.to_recover:
            self._recovering.update(dict.fromkeys(decision.to_recover))
            if self._recovery is None:
                self._recovery = self._loop.create_task(self._recover(controller))
        self._arm()
        return decision, agreed

    async def _recover(self, controller: Controller) -> None:
        """Elect the replica with the longest log, uncleanly, for as long as partitions wait for
        that."""
        while self._recovering:
            asked = [
                (topic, partition)
                for topic_id, index in self._recovering
                if (topic := controller.pending_image.topics_by_id.get(topic_id)) is not None
                and (partition := controller.pending_image.partition(topic_id, index)) is not None
                and partition.leader == NO_LEADER
                and any(map(controller.pending_image.is_active, partition.replicas))
            ]
            # Partitions that are left out wait until a broker returns, which starts this again.
            self._recovering = dict.fromkeys((t.topic_id, p.index) for t, p in asked)
            if asked:
                ends = await self._replica_ends(controller.pending_image, asked)
                if self._controller is not controller:
                    return
                self._carry_out(controller, partial(_recover, ends))
                await sleep(_RECOVER_AGAIN_S)
        self._recovery = None

    def _settled(self, agreed: "Future[None]") -> None:
        if agreed.cancelled() or agreed.exception() is None or self._controller is None:
            return
        self._give_up(f"what was decided could not be agreed on: {agreed.exception()}")

    def _give_up(self, reason: str) -> None:
        """Resign: the controller's image is not what is committed."""
        logger.error("this node resigns as controller: %s", reason)
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
            self._carry_out(self._controller, lambda controller, now_ms: controller.tick(now_ms))


def _log_broker(event: BrokerEvent) -> None:
    match event:
        case BrokerSilent(broker_id, silent_ms, is_disconnected, led):
            logger.warning(
                "node %d is fenced: %sno heartbeat for %.3g s; it led %d %s",
                broker_id,
                "its connection broke, " if is_disconnected else "",
                silent_ms / 1000,
                led,
                "partition" if led == 1 else "partitions",
            )
        case BrokerUnfenced(broker_id, is_back=True):
            logger.info("node %d is back and no longer fenced", broker_id)
        case BrokerUnfenced(broker_id):
            logger.info("node %d has joined and can lead partitions", broker_id)


def _recover(ends: ReplicaEnds, controller: Controller, _: int) -> Decision[None]:
    return controller.recover(ends)


def _is_agreed(agreed: "Future[None]") -> bool:
    return agreed.done() and not agreed.cancelled() and agreed.exception() is None
