"""A record is done when all of its results are delivered."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from barnabas import App, Message, Outgoing
from barnabas.app.attempts import SentResult
from barnabas.app.memory_topics import MemoryReceipt, MemorySink
from barnabas.app.outgoing import Encoded
from barnabas.app.runners.deliveries import Deliveries
from barnabas.app.testing import TestRun
from barnabas.client.producer.sent_record import Delivery
from barnabas.errors import BarnabasError, DeliveryFailed
from tests.support.wait import wait_until

MESSAGE = Message("orders", 0, 0, 0, None, b"")
RESULT = Encoded("out", b"", None, ())


class Sent:
    """A result on its way."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.callback: Callable[[Any], object] = print

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        self.callback = callback

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        return self.error

    def settle(self, error: BaseException | None = None) -> None:
        self.error = error
        self.callback(self)


def test_the_last_result_does_not_stand_for_the_others() -> None:
    told: list[Any] = []
    deliveries = Deliveries(told.append, lambda *failure: told.append(failure))
    first, last = Sent(), Sent()
    deliveries.expect(MESSAGE, [SentResult(RESULT, first), SentResult(RESULT, last)])
    last.settle()
    assert (told, deliveries.pending) == ([], 1)
    first.settle()
    assert (told, deliveries.pending) == ([MESSAGE], 0)


def test_one_result_that_fails_fails_the_record() -> None:
    told: list[Any] = []
    deliveries = Deliveries(told.append, lambda *failure: told.append(failure))
    first, last = Sent(), Sent()
    deliveries.expect(MESSAGE, [SentResult(RESULT, first), SentResult(RESULT, last)])
    error = BarnabasError("no leader")
    first.settle(error)
    last.settle()
    assert told == [(MESSAGE, [RESULT], error)]
    deliveries.expect(MESSAGE, [])
    assert told[1:] == [MESSAGE]


class _Lost(MemoryReceipt):
    def exception(self, timeout_s: float | None = None) -> Any:
        return DeliveryFailed(1, BarnabasError("no leader"))

    def __await__(self) -> Any:
        raise self.exception()


class _LossySink(MemorySink):
    """Delivers nothing to one topic."""

    async def send(self, topic: str, *values: Any, **options: Any) -> MemoryReceipt:
        if topic == "lost":
            return _Lost(Delivery(topic, 0, 0, 0))
        return await super().send(topic, *values, **options)


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_record_with_a_lost_result_is_not_done(concurrency: int, is_async: bool) -> None:
    app = App()

    def handle(order: bytes) -> list[Outgoing]:
        if order == b"1":
            return [Outgoing(order, topic="lost"), Outgoing(order)]
        return [Outgoing(order)]

    async def handle_async(order: bytes) -> list[Outgoing]:
        return handle(order)

    app.handler("orders", group="g", produces="out", concurrency=concurrency, name="h")(
        handle_async if is_async else handle
    )
    run = app.test()
    run._topics.sink = lambda **_: cast("Any", _LossySink(run._topics))  # type: ignore[method-assign]
    with pytest.raises(DeliveryFailed, match="no leader"), run:
        _send_until_it_fails(app, run)
    assert run._topics.sources[0].done_offsets["orders"] == {0}


def _send_until_it_fails(app: App, run: TestRun) -> None:
    run.send("orders", b"0")
    run._wait(_append(run))
    wait_until(lambda: app.failure is not None)


async def _append(run: TestRun) -> None:
    run._topics.append("orders", b"1", None, ())
