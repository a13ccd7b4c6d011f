"""Transactions of slow handlers: they end in time, and are repeated a few times."""

from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from barnabas import App
from barnabas.app.memory_topics import MemorySink
from barnabas.app.testing import TestRun
from barnabas.errors import HandlerFailed, InvalidArgument, ProducerFenced


class _TimedSink(MemorySink):
    """Fences a producer whose transaction took too long."""

    is_fenced = False

    def __init__(self, run: TestRun, timeout_s: float) -> None:
        super().__init__(run._topics)
        self._run = run
        self._timeout_s = timeout_s

    def transaction(self, consumer: Any) -> Any:
        return self._timed(consumer)

    @asynccontextmanager
    async def _timed(self, consumer: Any) -> Any:
        if self.is_fenced:
            raise ProducerFenced("this producer was fenced before")
        clock, before = self._run._clock, dict(consumer._positions)
        began_ms = clock.now_ms
        async with super().transaction(consumer):
            yield
            if clock.now_ms - began_ms > self._timeout_s * 1000:
                self.is_fenced = True
                consumer._positions.update(before | {"orders": len(self._run.records("out"))})
                raise ProducerFenced("it took too long")


def timed(app: App) -> tuple[TestRun, list[_TimedSink]]:
    run = app.test()
    sinks: list[_TimedSink] = []

    def sink(*, transaction_timeout_s: float, **_: Any) -> Any:
        sinks.append(_TimedSink(run, transaction_timeout_s))
        return sinks[-1]

    run._topics.sink = cast("Any", sink)  # type: ignore[method-assign]
    return run, sinks


def fill(run: TestRun, count: int) -> None:
    async def fill() -> None:
        for number in range(count):
            run._topics.append("orders", b"%d" % number, None, ())
        await run._settle()

    run._wait(fill())


@pytest.mark.parametrize("record_s", [0.1, 7, 25])
def test_a_slow_handler_gets_fewer_records_in_a_transaction(record_s: float) -> None:
    app = App()

    @app.handler("orders", group="g", exactly_once=True, produces="out")
    async def handle(order: bytes) -> bytes:
        run._clock.now_ms += round(1000 * record_s)
        return order

    run, sinks = timed(app)
    with run:
        fill(run, 100)
        for _ in range(10):
            run.advance("10s")
        assert [each.value for each in run.records("out")] == [b"%d" % n for n in range(100)]
    assert sinks[-1]._timeout_s == 60
    assert [each.is_fenced for each in sinks] == [True] * (len(sinks) - 1) + [False]
    assert len(sinks) == {0.1: 1, 7: 2, 25: 3}[record_s]


def test_a_transaction_that_never_ends_in_time_stops_the_application() -> None:
    app = App()

    @app.handler("orders", group="g", exactly_once=True, transaction_timeout_s=5)
    async def handle(order: bytes) -> None:
        run._clock.now_ms += 6000

    run, sinks = timed(app)
    with run:
        fill(run, 1)
        with pytest.raises(HandlerFailed, match=r"8 times in a row.*1 record: .*too long.*is 5"):
            run.advance("2m")
    assert len(sinks) == 8


def test_pauses_that_a_transaction_has_no_time_for_are_refused() -> None:
    def register(**options: Any) -> None:
        App().handler("orders", group="g", exactly_once=True, **options)(lambda order: None)

    register(retries=3, backoff="10s")
    with pytest.raises(InvalidArgument, match="pauses between 4 attempts take 60 s"):
        register(retries=3, backoff="20s")
    register(retries=3, backoff="20s", transaction_timeout_s=120)
    with pytest.raises(InvalidArgument, match="pauses between 21 attempts"):
        register(retries=20)
    with pytest.raises(InvalidArgument, match="more than 0"):
        register(transaction_timeout_s=0)
