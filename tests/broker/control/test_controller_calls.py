"""Asking the controller, wherever it is, until it answers."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.broker.control.active_controller import NotAgreed, NotController
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.control.controller_calls import (
    AGREE_TIMEOUT_MS,
    ControllerCalls,
    ControllerUnavailable,
)
from barnabas.broker.net.peers import PeerIsDown, PeerUnavailable
from barnabas.broker.routes import routes
from barnabas.broker.runtime.clock import Clock
from barnabas.controller.features.node_features import AllFeatures
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.primitives import Reader, Writer

REQUEST = CreateTopicsRequest([CreatableTopic("t", 1, 1)])
ME = 1


def answer(error: ErrorCode = ErrorCode.NONE) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult("t", error_code=error)])


class Stage:
    """Other nodes answer as `others` says; this one as `here` does."""

    def __init__(self) -> None:
        self.leader_id: int | None = ME
        self.down = 0
        self.others: dict[int, Callable[[Future[Any]], None]] = {}
        self.here: Callable[[], Any] = answer
        self.asked: list[tuple[int, int, str]] = []
        self.at_once: list[bool] = []
        self.loop = asyncio.get_running_loop()
        self.calls = ControllerCalls(
            ME,
            self.loop,
            Clock(),
            self,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            lambda: self.leader_id,
            lambda: 0,
            self._is_down,
            ask_nodes=self._ask_nodes,
        )

    async def _ask_nodes(self) -> AllFeatures:
        return {}

    def _is_down(self) -> None:
        self.down += 1

    def call(
        self, node_id: int, request: Any, version: int, *, timeout_ms: int, lane: str
    ) -> "Future[Any]":
        self.asked.append((node_id, version, lane))
        assert timeout_ms > AGREE_TIMEOUT_MS or timeout_ms < 3_000
        future = self.loop.create_future()
        self.others.get(node_id, lambda _: None)(future)
        return future

    async def decide(self, decide: object, timeout_ms: int, *, at_once: bool) -> Any:
        self.asked.append((ME, -1, ""))
        self.at_once.append(at_once)
        return self.here()

    def leads(self, node_id: int | None) -> None:
        self.leader_id = node_id
        self.calls.leader_changed()


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await asyncio.wait_for(scenario(Stage()), 60)

    asyncio.run(run())


def test_the_controller_may_be_here_or_there() -> None:
    async def scenario(stage: Stage) -> None:
        assert await stage.calls.call(REQUEST) == answer()
        stage.leader_id = 2
        stage.others[2] = lambda future: future.set_result(answer())
        assert await stage.calls.call(REQUEST, lane="isr") == answer()
        assert stage.asked == [(ME, -1, ""), (2, CreateTopicsRequest.MAX_VERSION, "isr")]

    play(scenario)


def test_heartbeats_are_answered_while_other_things_are_under_way() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.calls.call(REQUEST)
        stage.here = BrokerHeartbeatResponse
        await stage.calls.call(BrokerHeartbeatRequest(1))
        assert stage.at_once == [False, True]

    play(scenario)


def test_it_asks_until_there_is_one() -> None:
    async def scenario(stage: Stage) -> None:
        def unavailable(future: "Future[Any]") -> None:
            stage.others[2] = not_controller
            future.set_exception(PeerUnavailable("gone"))

        def not_controller(future: "Future[Any]") -> None:
            stage.leads(3)
            future.set_result(answer(ErrorCode.NOT_CONTROLLER))

        def no_more() -> None:
            stage.here = answer
            raise NotController

        stage.leader_id = None
        asking = stage.loop.create_task(stage.calls.call(REQUEST))
        await asyncio.sleep(0)
        stage.leader_id = 2
        stage.others[2] = unavailable
        stage.others[3] = lambda future: (stage.leads(ME), future.set_exception(PeerUnavailable()))
        stage.here = no_more
        assert await asking == answer()
        assert [node_id for node_id, _, _ in stage.asked] == [2, 2, 3, ME, ME]

    play(scenario)


def test_it_is_told_when_the_controllers_process_is_gone() -> None:
    async def scenario(stage: Stage) -> None:
        def down(future: "Future[Any]") -> None:
            future.set_exception(PeerIsDown())
            stage.leads(3)

        stage.leader_id = 2
        stage.others[2] = down
        stage.others[3] = lambda future: future.set_result(answer())
        assert await stage.calls.call(REQUEST) == answer()
        assert stage.down == 1

    play(scenario)


def test_a_controller_that_is_none_any_more_is_not_waited_for() -> None:
    async def scenario(stage: Stage) -> None:
        held: list[Future[Any]] = []
        stage.others[2] = held.append  # as a frozen node does
        stage.others[3] = lambda future: future.set_result(answer())
        stage.leader_id = 2
        asking = stage.loop.create_task(stage.calls.call(REQUEST))
        await asyncio.sleep(0.01)
        assert not asking.done()
        stage.leads(3)
        assert await asyncio.wait_for(asking, 60) == answer()
        assert held[0].cancelled()

    play(scenario)


def test_a_call_that_is_given_up_takes_its_question_along() -> None:
    async def scenario(stage: Stage) -> None:
        held: list[Future[Any]] = []
        stage.others[2] = held.append
        stage.leader_id = 2
        asking = stage.loop.create_task(stage.calls.call(REQUEST))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert asking.cancelled()
        assert held[0].cancelled()

    play(scenario)


def test_without_a_controller_it_ends_in_time_and_says_why() -> None:
    async def scenario(stage: Stage) -> None:
        stage.leader_id = None
        with pytest.raises(ControllerUnavailable, match="a majority of the voters must be running"):
            await stage.calls.call(REQUEST, timeout_ms=50)

        def full() -> None:
            raise NotAgreed("waits for room")

        stage.leader_id, stage.here = ME, full
        with pytest.raises(ControllerUnavailable, match="waits for room"):
            await stage.calls.call(REQUEST)
        assert len(stage.asked) == 1, "what may yet be agreed on is not asked for again"

    play(scenario)


def test_every_refusal_can_be_sent_in_every_version_and_is_known_for_one() -> None:
    for request_type, api in CONTROLLER_APIS.items():
        request = request_type()
        if isinstance(request, CreateTopicsRequest):
            request = REQUEST
        refusal = api.refuse(request, ErrorCode.NOT_CONTROLLER, "why")
        for version in range(request_type.MIN_VERSION, request_type.MAX_VERSION + 1):
            writer = Writer()
            refusal.encode(writer, version)
            refusal.decode(Reader(memoryview(writer.getvalue())), version)
        parts = any(isinstance(getattr(refusal, name), list) for name in refusal.__slots__)
        if api.error_of(refusal) != ErrorCode.NOT_CONTROLLER:
            assert parts, "nothing was asked for, so nothing was refused"
    served = {route.request_type for route in routes()}
    assert CONTROLLER_APIS.keys() <= served
