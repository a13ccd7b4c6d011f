"""Handlers in memory: arguments, results, retries, dead letters, timers, dependencies."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import pytest

from barnabas import App, Depends, Message, Outgoing
from barnabas.errors import HandlerFailed, InvalidArgument
from tests.support.wait import LIMIT_S


@dataclass
class Order:
    id: int
    amount: float = 1.0


@dataclass
class Invoice:
    order: int


@pytest.fixture(params=[1, 4])
def concurrency(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_record_is_decoded_handled_and_its_result_sent_on(concurrency: int) -> None:
    app = App()

    @app.handler("orders", group="billing", produces="invoices", concurrency=concurrency)
    async def bill(order: Order, key: str) -> Invoice | None:
        assert key == "ada"
        return Invoice(order.id) if order.amount else None

    with app.test() as run:
        run.send("orders", Order(1), key="ada")
        run.send("orders", Order(2, 0), key="ada")
        run.send("orders", Order(3), key="ada", headers=[("traceparent", b"00-1-2-01")])
        assert run.values("invoices", Invoice) == [Invoice(1), Invoice(3)]
        invoice = run.records("invoices")[1]
        assert (invoice.key, invoice.headers) == (b"ada", (("traceparent", b"00-1-2-01"),))
    assert app.handlers["bill"].statistics.handled == 3


@pytest.mark.parametrize("is_async", [True, False])
def test_blocking_retries_wait_for_the_clock(concurrency: int, is_async: bool) -> None:
    app = App()
    seen: list[int] = []

    def handle(order: Order) -> None:
        seen.append(order.id)
        if len(seen) < 3:
            raise ConnectionError("the bank does not answer")

    async def handle_async(order: Order) -> None:
        handle(order)

    app.handler(
        "orders", group="g", retries=3, backoff=["10s", "1m"], concurrency=concurrency, name="h"
    )(handle_async if is_async else handle)
    with app.test() as run:
        run.send("orders", Order(1), key="k")
        run.send("orders", Order(2), key="k")
        assert seen == [1]
        run.advance("9s")
        assert seen == [1]
        run.advance("1s")
        assert seen == [1, 1]
        run.advance("1m")
        assert seen == [1, 1, 1, 2]
    statistics = app.handlers["h"].statistics
    assert (statistics.handled, statistics.failed, statistics.retried) == (2, 2, 2)


def test_what_keeps_failing_is_a_dead_letter_and_the_others_go_on(concurrency: int) -> None:
    app = App()
    seen = []

    @app.handler(
        "orders", group="g", retries=1, backoff=0, dead_letters="dead", concurrency=concurrency
    )
    def handle(order: Order) -> None:
        if order.id == 2:
            raise ValueError("poison")
        seen.append(order.id)

    with app.test() as run:
        for number in (1, 2, 3):
            run.send("orders", Order(number), key="k", headers=[("h", b"1")])
        run.send("orders", b"no JSON", key="k")
        run.advance("1s")
        poison, undecodable = run.dead_letters("dead")
    assert seen == [1, 3]
    assert (poison.topic, poison.offset, poison.attempts) == ("orders", 1, 2)
    assert poison.reason == "ValueError: poison"
    assert poison.message.headers[0] == ("h", b"1")
    assert undecodable.attempts == 1
    assert "orders-0 at offset 3 is not valid: no JSON" in undecodable.reason
    assert "seek past" not in undecodable.reason


def test_retry_topics_keep_the_partition_moving(concurrency: int) -> None:
    app = App()
    seen: list[tuple[int, int]] = []

    @app.handler(
        "orders",
        group="g",
        retry_topics=["30s", "10m"],
        dead_letters="dead",
        concurrency=concurrency,
    )
    def handle(message: Message[str, Order]) -> None:
        seen.append((message.value.id, message.offset))
        if message.value.id == 1:
            raise ConnectionError("no bank")

    with app.test() as run:
        run.send("orders", Order(1), key="k")
        run.send("orders", Order(2), key="k")
        assert seen == [(1, 0), (2, 1)]
        assert len(run.records("orders.retry.30s")) == 1
        run.advance("29s")
        assert len(seen) == 2
        run.advance("1s")
        assert seen[2:] == [(1, 0)]
        run.advance("10m")
        assert seen[3:] == [(1, 0)]
        (letter,) = run.dead_letters("dead")
        assert (letter.topic, letter.offset, letter.attempts) == ("orders", 0, 3)
        assert not [name for name, _ in letter.message.headers if name.startswith("retry.")]


def test_without_dead_letters_a_failure_stops_the_application() -> None:
    app = App()

    @app.handler("orders", group="g")
    def handle(order: Order) -> None:
        raise ValueError("no")

    with (
        app.test() as run,
        pytest.raises(HandlerFailed, match=r"failed 1 time with .*orders-0 .*dead_letters"),
    ):
        run.send("orders", Order(1))


def test_a_record_may_be_skipped() -> None:
    app = App()
    seen = []

    @app.handler("orders", group="g", on_failure="skip")
    def handle(order: Order) -> None:
        seen.append(order.id)
        raise ValueError("no")

    with app.test() as run:
        run.send("orders", Order(1))
        run.send("orders", Order(2))
    assert seen == [1, 2]


def test_keys_run_side_by_side_and_each_in_order() -> None:
    app = App()
    log: list[str] = []

    @app.handler("work", group="g", concurrency=8)
    async def handle(value: str, key: str) -> None:
        log.append(f"{value} begins")
        if value == "a1":
            while "b1 ends" not in log:
                await asyncio.sleep(0.001)
        log.append(f"{value} ends")

    with app.test() as run:

        async def send_all() -> None:
            for value in ("a1", "a2", "b1"):
                run._topics.append("work", value.encode(), value[:1].encode(), ())
            await run._settle()

        run._wait(send_all())
    assert log == ["a1 begins", "b1 begins", "b1 ends", "a1 ends", "a2 begins", "a2 ends"]


def test_batches_and_the_one_that_spoils_them() -> None:
    app = App()
    sizes: list[int] = []
    done: list[int] = []

    @app.handler("orders", group="g", dead_letters="dead", produces="sums")
    async def handle(orders: list[Order]) -> list[Outgoing]:
        sizes.append(len(orders))
        if any(each.id == 2 for each in orders):
            raise ValueError("poison")
        done.extend(each.id for each in orders)
        return [Outgoing(str(len(orders)), key="sum")]

    with app.test() as run:

        async def send_all() -> None:
            for number in (1, 2, 3):
                run._topics.append("orders", b'{"id":%d}' % number, None, ())
            run._topics.append("orders", b"{", None, ())
            await run._settle()

        run._wait(send_all())
        assert [each.offset for each in run.dead_letters("dead")] == [3, 1]
        assert [(each.key, each.value) for each in run.records("sums")] == [(b"sum", b"1")] * 2
    assert sizes == [3, 1, 1, 1]
    assert done == [1, 3]


def test_arrow_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    app = App()
    rows: list[Any] = []

    @app.handler("orders", group="g")
    def handle(table: pa.Table) -> None:  # type: ignore[name-defined]
        rows.extend(table.column("value").to_pylist())

    with app.test() as run:
        run.send("orders", b"1")
        run.send("orders", b"2")
    assert rows == [b"1", b"2"]


def test_a_transaction_has_all_results_or_none() -> None:
    app = App()
    calls = []

    @app.handler("orders", group="g", exactly_once=True, produces="invoices", dead_letters="dead")
    def handle(order: Order) -> Invoice:
        calls.append(order.id)
        if order.id == 2:
            raise ValueError("no")
        return Invoice(order.id)

    with app.test() as run:
        for number in (1, 2, 3):
            run.send("orders", Order(number))
        assert run.values("invoices", Invoice) == [Invoice(1), Invoice(3)]
        assert [each.offset for each in run.dead_letters("dead")] == [1]


def test_timers_follow_the_clock() -> None:
    app = App()
    calls = []

    @app.every("10s")
    async def tick() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")

    @app.every("1m")
    def tock() -> None:
        calls.append(60)

    with app.test() as run:
        run.advance("9s")
        assert calls == []
        run.advance("21s")
        assert calls == [1, 1, 1]
        run.advance("30s")
        assert sorted(calls) == [1] * 6 + [60]


def test_lifespan_dependencies_and_middleware() -> None:
    log: list[Any] = []

    @asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[dict[str, str]]:
        log.append("open")
        yield {"db": "pool"}
        log.append("close")

    app = App(lifespan=lifespan)

    def connection() -> Iterator[str]:
        yield f"connection of {app.state['db']}"
        log.append("returned")

    async def session(of: Annotated[str, Depends(connection)]) -> AsyncIterator[str]:
        yield f"session on {of}"
        log.append("session closed")

    @app.middleware
    async def outer(message: Message, call_next: Any) -> Any:
        log.append(f"before {message.offset}")
        try:
            return await call_next(message)
        finally:
            log.append("after")

    @app.handler("orders", group="g")
    def handle(
        order: Order,
        session: Annotated[str, Depends(session)],
        same: str = Depends(connection),  # type: ignore[assignment]
    ) -> None:
        log.append((order.id, session, same))

    with app.test() as run:
        run.send("orders", Order(7))
    assert log == [
        "open",
        "before 0",
        (7, "session on connection of pool", "connection of pool"),
        "session closed",
        "returned",
        "after",
        "close",
    ]
    log.clear()
    app.dependency_overrides[session] = lambda: "fake"
    with app.test() as run:
        run.send("orders", Order(8))
    assert (8, "fake", "connection of pool") in log


def test_mistakes_are_told_when_a_handler_is_registered() -> None:
    app = App()
    app.handler("orders", group="g", name="first")(lambda order: None)
    with pytest.raises(InvalidArgument, match="would share the records of orders in group g"):
        app.handler("orders", group="g", name="second")(lambda order: None)
    with pytest.raises(InvalidArgument, match="a handler first exists"):
        app.handler("other", group="g", name="first")(lambda order: None)
    with pytest.raises(InvalidArgument, match="takes no record"):
        app.handler("other", group="g", name="x")(lambda: None)
    with pytest.raises(InvalidArgument, match="parameter b is one too many"):
        app.handler("other", group="g", name="x")(lambda a, b: None)
    with pytest.raises(InvalidArgument, match="such as retries=3"):
        app.handler("other", group="g", retries=cast("Any", "3"), name="x")(lambda a: None)
    with pytest.raises(InvalidArgument, match='write "30s"'):
        app.handler("other", group="g", backoff="soon", name="x")(lambda a: None)
    with pytest.raises(InvalidArgument, match="concurrency is at least 1"):
        app.handler("other", group="g", concurrency=0, name="x")(lambda a: None)


def test_a_start_that_fails_leaves_no_thread() -> None:
    @asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[None]:
        raise ConnectionError("the database is away")
        yield

    before = set(threading.enumerate())
    with pytest.raises(ConnectionError, match="is away"), App(lifespan=lifespan).test():
        pass
    assert set(threading.enumerate()) <= before


def test_what_a_pause_holds_back_is_not_handled() -> None:
    app = App()
    seen = []

    @app.handler("prices", group=None)
    async def keep(value: bytes) -> None:
        seen.append(value)

    with app.test() as run:
        run.send("prices", b"1")
        ((runner, _),) = app._runners("keep")
        runner.is_paused = True  # as `pause` does, while the source is being asked
        run.send("prices", b"2")
        (_, held) = run.records("prices")
        waiting = asyncio.run_coroutine_threadsafe(app.until_handled("keep", held), run._loop)
        run.advance("1m")
        assert (seen, waiting.done()) == ([b"1"], False)
        run._wait(app.resume("keep"))
        waiting.result(LIMIT_S)
        assert seen == [b"1", b"2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retries": "3"}, "retries='3': write a number"),
        ({"concurrency": "3"}, "concurrency='3': write a number"),
        ({"max_batch": "3"}, "max_batch='3': write a number"),
        ({"transaction_timeout_s": "60"}, "transaction_timeout_s='60': write a number"),
        ({"retry_topics": "30s"}, r"retry_topics=\['30s'\]"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_option(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        App().handler("orders", group="g", **options)(lambda order: None)


def test_a_record_is_handled_when_it_is_due() -> None:
    app = App()
    handled: list[bytes] = []

    @app.handler("orders", group="billing")
    async def bill(order: bytes) -> None:
        handled.append(order)
        if order == b"first":
            await app.send("orders", b"later", delay="1h")
            await app.send("orders", b"at", at=datetime(2026, 1, 1, 0, 30, tzinfo=UTC))
            await app.send("orders", b"over", at=datetime(2025, 1, 1, tzinfo=UTC))

    with app.test() as run:
        run.send("orders", b"first")
        assert handled == [b"first", b"over"]
        assert [each.value for each in run.records("orders.delayed")] == [b"later", b"at"]
        run.advance("29m")
        assert handled == [b"first", b"over"]
        run.advance("1m")
        assert handled == [b"first", b"over", b"at"]
        run.advance("30m")
        assert handled == [b"first", b"over", b"at", b"later"]
