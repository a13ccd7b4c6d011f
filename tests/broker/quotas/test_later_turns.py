"""`request_percentage` counts all turns of the event loop that a request takes."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.broker.guards.guard import Verdict, guarded
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.net.throttling import Throttling
from barnabas.broker.runtime.slices import Slices
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.broker.handlers.produce_world import LARGE, SMALL, Later, Partition, World

APPEND_S = 0.125
SLICES = 5


class Client:
    """A client that is within its limits, and the work for it."""

    request = object()

    def __init__(self) -> None:
        self.now_s = 0.0
        self.worked_s = 0.0
        self.counted = 0

    def produced(self, _size: int, _now_ms: int) -> int:
        return 0

    def request_throttle_ms(self, _now_ms: int) -> int:
        return 0

    def worked(self, seconds: float, _now_ms: int) -> None:
        self.worked_s += seconds
        self.counted += 1

    def throttling(self, dispatcher: Any) -> Throttling:
        quotas = SimpleNamespace(
            client=lambda *_: self,
            now_ms=lambda: int(self.now_s * 1_000),
            now_s=lambda: self.now_s,
            throttle_times=None,
            limits=SimpleNamespace(has_clients=True),
        )
        return Throttling(dispatcher, cast("Any", quotas))


class Costly(Partition):
    """Each batch takes a while to store."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    def append(self, *_: Any, **__: Any) -> Any:
        self._client.now_s += APPEND_S
        return super().append()


@pytest.fixture
def client() -> Client:
    return Client()


def world_of(client: Client, count: int) -> tuple[World, list[Partition]]:
    partitions: list[Partition] = [Costly(client) for _ in range(count)]
    world = World(partitions, Later())
    world._dispatcher = cast("Any", client.throttling(world._dispatcher))
    return world, partitions


def test_a_produce_that_is_stored_in_several_turns(client: Client) -> None:
    count = 8
    world, partitions = world_of(client, count)
    world.produce(*[LARGE] * count)
    assert not partitions[-1].stored
    assert 0 < client.worked_s < count * APPEND_S
    while not world.said:
        client.now_s += 10  # others' turns
        world.turn()
    assert client.worked_s == count * APPEND_S


def test_a_produce_that_is_stored_in_one_turn_is_counted_once(client: Client) -> None:
    world, _ = world_of(client, 2)
    world.produce(SMALL, SMALL)
    assert world.said
    assert (client.worked_s, client.counted) == (2 * APPEND_S, 1)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_request_that_is_judged_in_slices(client: Client, *, refuses: bool) -> None:
    def guard(*_: Any) -> Slices[Verdict]:
        for _ in range(SLICES):
            client.now_s += 1
            yield
        return DeleteGroupsResponse() if refuses else None

    def handle(*_: Any) -> DeleteGroupsResponse:
        client.now_s += 1
        return DeleteGroupsResponse()

    node = SimpleNamespace(
        authorization=SimpleNamespace(of=lambda *_: SimpleNamespace(is_full=False))
    )
    route: Route[Any] = guarded(Route(DeleteGroupsRequest, handle), guard)
    assert answered(Dispatcher(node, [route]), client)
    assert client.worked_s == SLICES + (not refuses)


def test_a_response_that_is_built_in_slices(client: Client) -> None:
    def handle(*_: Any) -> Slices[DeleteGroupsResponse]:
        for _ in range(SLICES):
            client.now_s += 1
            yield
        return DeleteGroupsResponse()

    assert answered(Dispatcher(None, [Route(DeleteGroupsRequest, handle)]), client)
    assert client.worked_s == SLICES


def answered(dispatcher: "Dispatcher[Any]", client: Client) -> Any:
    """The answer; between its turns others take theirs."""
    connection = SimpleNamespace(
        principal=SimpleNamespace(name="ada"),
        peer=None,
        awaited_quota=True,
        has_signed_in=True,
    )
    frame = memoryview(b"".join(map(bytes, encode_request(DeleteGroupsRequest(), 1, 7, "c")))[4:])

    async def ask() -> Any:
        dispatch: Callable[..., Any] = client.throttling(dispatcher).dispatch
        answer = dispatch(frame, connection)
        while not answer.done():
            client.now_s += 10
            await asyncio.sleep(0)
        return answer.result()

    return asyncio.run(ask())
