"""What a handler does with each error code: it waits, gives the record up, or stops."""

import logging
from collections.abc import Callable
from typing import Any, cast

import pytest

from barnabas import App
from barnabas.app.memory_topics import MemorySink, MemorySource
from barnabas.app.testing import TestRun
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.consequences import Consequence, consequence_of_code
from barnabas.errors import BarnabasError, BrokerError, NobodyListens, TransactionAborted
from barnabas.wire.errors import ErrorCode
from tests.client.test_consequences import CODES


class Failing:
    """Raises an error the first few times that something is done."""

    def __init__(self, error: BarnabasError, times: int) -> None:
        self.error = error
        self.left = times

    def __call__(self) -> None:
        if self.left:
            self.left -= 1
            raise self.error


def failing_sinks(run: TestRun, fail: Callable[[], None]) -> None:
    class Sink(MemorySink):
        async def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
            if topic == "out":
                fail()
            return await super().send(topic, *arguments, **options)

    run._topics.sink = cast("Any", lambda **_: Sink(run._topics))  # type: ignore[method-assign]


def failing_sources(run: TestRun, fail: Callable[[], None]) -> None:
    class Source(MemorySource):
        async def poll(self, timeout_s: float, max_records: int | None) -> Any:
            found = await super().poll(timeout_s, max_records)
            if found:
                fail()
            return found

    def source(topics: Any, _group: str | None, **_: Any) -> Any:
        made = Source(run._topics, topics)
        run._topics.sources.append(made)
        return made

    run._topics.source = cast("Any", source)  # type: ignore[method-assign]


def handling(exactly_once: bool = False) -> App:
    app = App()

    @app.handler("in", group="g", produces="out", dead_letters="dead", exactly_once=exactly_once)
    async def handle(value: bytes) -> bytes:
        return value

    return app


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_result_is_refused(code: ErrorCode) -> None:
    expected = consequence_of_code(code)
    failing = Failing(broker_error(code, "topic out"), 20)
    made = handling().test()
    failing_sinks(made, failing)
    found = _outcome(made)
    assert found == (expected, 1 if expected is Consequence.WAITS else 0)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_records_cannot_be_read(code: ErrorCode) -> None:
    """There is no record to give up, so what does not wait stops."""
    made = handling().test()
    failing_sources(made, Failing(broker_error(code, "group g"), 20))
    waits = consequence_of_code(code) is Consequence.WAITS
    assert _outcome(made) == ((Consequence.WAITS, 1) if waits else (Consequence.STOPS, 0))


def _outcome(made: TestRun) -> tuple[Consequence, int]:
    """What became of one record, and how many results there are."""
    stopped: BaseException | None = None
    results = letters = 0
    try:
        with made as run:
            run.send("in", b"1")
            run.advance("10m")
            results, letters = len(run.records("out")), len(run.records("dead"))
    except BrokerError as error:
        stopped = error
    if stopped is not None:
        return Consequence.STOPS, results
    return (Consequence.GIVES_UP if letters else Consequence.WAITS), results


def test_waiting_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    made = handling().test()
    failing_sources(made, Failing(NobodyListens("connection refused"), 20))
    with caplog.at_level(logging.INFO, logger="barnabas.app"):
        assert _outcome(made) == (Consequence.WAITS, 1)
    said = [each.getMessage() for each in caplog.records]
    assert said.count("handler handle waits, and goes on by itself: connection refused") == 1


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REBALANCE_IN_PROGRESS], ids=lambda c: c.name
)
def test_a_transaction_is_repeated_until_brokers_allow_it(code: ErrorCode) -> None:
    """It was ended after eight times, as one that takes too long is."""
    cause = broker_error(code, "partition out-0")
    aborted = TransactionAborted.because(cause)
    aborted.__cause__ = cause
    made = handling(exactly_once=True).test()
    failing_sinks(made, Failing(aborted, 40))
    _put_back(made)
    assert _outcome(made) == (Consequence.WAITS, 1)


def _put_back(run: TestRun) -> None:
    """Have records of a transaction that was rolled back read again, as a consumer does."""
    make = run._topics.sink

    def sink(**options: Any) -> Any:
        made = cast("Any", make(**options))
        begin = made.transaction

        def transaction(consumer: Any) -> Any:
            return _Rewinding(begin(consumer), consumer)

        made.transaction = transaction
        return made

    run._topics.sink = cast("Any", sink)  # type: ignore[method-assign]


class _Rewinding:
    def __init__(self, inner: Any, consumer: Any) -> None:
        self._inner = inner
        self._consumer = consumer

    async def __aenter__(self) -> Any:
        return await self._inner.__aenter__()

    async def __aexit__(self, *error: object) -> Any:
        if error[0] is not None:
            self._consumer._positions = dict.fromkeys(self._consumer._positions, 0)
        return await self._inner.__aexit__(*error)
