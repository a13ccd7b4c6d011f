"""Sends requests to the controller, on whichever node it is.

A request is retried until a controller answers: the controller may be about to move. So a change
may be made, and the retry may find that it was made already.
"""

from asyncio import FIRST_COMPLETED, AbstractEventLoop, Future, sleep, wait
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from barnabas.backoff import Backoff
from barnabas.broker.control.active_controller import ActiveController, NotAgreed, NotController
from barnabas.broker.control.controller_apis import CONTROLLER_APIS, DecisionInput
from barnabas.broker.control.envelope import opened_answer, seal
from barnabas.broker.net.peers import PeerIsDown, Peers, PeerUnavailable
from barnabas.broker.runtime.clock import Clock
from barnabas.controller.controller import Controller
from barnabas.controller.decision import Decision
from barnabas.controller.features.node_features import AllFeatures
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.primitives import WireError

ResponseT = TypeVar("ResponseT", bound=Response)

_BACKOFF = Backoff(0.02, 0.25)
_CALL_TIMEOUT_MS = 5_000
AGREE_TIMEOUT_MS = 4_000
"""Shorter than the caller's timeout, so that a node that forwarded the request gets the reason."""
DEFAULT_TIMEOUT_MS = 15_000

LANE = "control"


class ControllerUnavailable(ConnectionError):  # noqa: N818 - an expected outcome
    """No controller has answered in time."""


class ControllerCalls:
    """Calls the controller: here, or on the node that leads the metadata log."""

    def __init__(
        self,
        node_id: int,
        loop: AbstractEventLoop,
        clock: Clock,
        peers: Peers,
        controller: ActiveController,
        leader_id: Callable[[], int | None],
        metadata_end_offset: Callable[[], int],
        on_controller_down: Callable[[], None] = lambda: None,
        *,
        ask_nodes: Callable[[], Awaitable[AllFeatures]],
    ) -> None:
        """`on_controller_down` is called when the controller's process is gone. `ask_nodes` asks
        all nodes which levels of features they support."""
        self._node_id = node_id
        self._clock = clock
        self._peers = peers
        self._controller = controller
        self._leader_id = leader_id
        self._metadata_end_offset = metadata_end_offset
        self._on_controller_down = on_controller_down
        self._ask_nodes = ask_nodes
        self._loop = loop
        self._leader_changed: Future[None] = loop.create_future()

    def leader_changed(self) -> None:
        """Another node leads the metadata log: stop waiting for the former one."""
        self._leader_changed.set_result(None)
        self._leader_changed = self._loop.create_future()

    async def decide_here(
        self,
        request: Request[ResponseT],
        timeout_ms: int = AGREE_TIMEOUT_MS,
        requester: Principal = ANONYMOUS,
    ) -> ResponseT:
        """Let this node's controller decide. Raises `NotController` or `NotAgreed`."""
        api = CONTROLLER_APIS[type(request)]
        elects = api.elects
        ends: ReplicaEnds = {}
        if elects is not None:
            ends = await self._controller.replica_ends(lambda image: elects(image, request))
        nodes = await self._ask_nodes() if api.asks_nodes else {}

        def decide_now(controller: Controller, now_ms: int) -> Decision[Any]:
            given = DecisionInput(now_ms, self._metadata_end_offset(), ends, requester, nodes)
            return api.decide(controller, request, given)

        answer: ResponseT = await self._controller.decide(
            decide_now, min(timeout_ms, AGREE_TIMEOUT_MS), at_once=api.at_once
        )
        return answer

    async def call(
        self,
        request: Request[ResponseT],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        lane: str = LANE,
        requester: Principal = ANONYMOUS,
        client_host: str = "",
    ) -> ResponseT:
        """Retry until a controller answers. Raises ControllerUnavailable.

        `requester` and its host are those of the client, for a decision that depends on who asks.
        """
        sealed = None
        if CONTROLLER_APIS[type(request)].asks_who:
            sealed = seal(request, requester, client_host)
        deadline_ms = self._clock.steady_ms() + timeout_ms
        pauses = _BACKOFF.pauses()
        while True:
            left_ms = deadline_ms - self._clock.steady_ms()
            if left_ms <= 0:
                raise ControllerUnavailable(
                    "no controller answers; a majority of the voters must be running"
                )
            response = await self._try(
                request, min(left_ms, _CALL_TIMEOUT_MS), lane, requester, sealed
            )
            if response is not None:
                return response
            await sleep(next(pauses))

    async def _try(
        self,
        request: Request[ResponseT],
        timeout_ms: int,
        lane: str,
        requester: Principal,
        sealed: EnvelopeRequest | None,
    ) -> ResponseT | None:
        leader_id = self._leader_id()
        try:
            if leader_id == self._node_id:
                return await self.decide_here(request, timeout_ms, requester)
            if leader_id is None:
                return None
            if sealed is not None:
                answer = await self._ask(leader_id, sealed, timeout_ms, lane)
                response = None if answer is None else opened_answer(answer, request)
            else:
                response = await self._ask(leader_id, request, timeout_ms, lane)
        except NotAgreed as reason:
            raise ControllerUnavailable(str(reason)) from None
        except PeerIsDown:
            self._on_controller_down()
            return None
        except (NotController, PeerUnavailable, WireError):
            return None
        if response is None:
            return None
        error = CONTROLLER_APIS[type(request)].error_of(response)
        return None if error == ErrorCode.NOT_CONTROLLER else response

    async def _ask(
        self, node_id: int, request: Request[ResponseT], timeout_ms: int, lane: str
    ) -> ResponseT | None:
        """Send to a node; None if another is the controller now. Raises `PeerUnavailable`."""
        leader_changed = self._leader_changed
        answer = self._peers.call(
            node_id, request, request.MAX_VERSION, timeout_ms=timeout_ms, lane=lane
        )
        try:
            either: set[Future[Any]] = {answer, leader_changed}
            await wait(either, return_when=FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
