"""No record stops an application that has dead letters: odd headers, texts, times and results."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import App, Message
from barnabas.client.producer.dead_letters import letter_headers
from barnabas.errors import InvalidArgument

FAR_MS = 1 << 60


def test_a_header_that_is_no_text_goes_through_a_retry_topic() -> None:
    app = App()
    calls = []

    @app.handler("orders", group="g", retry_topics=["1s"], dead_letters="dead")
    def handle(order: bytes) -> None:
        calls.append(order)
        raise ValueError("no")

    with app.test() as run:
        run.send("orders", b"1", headers=[("retry.x", b"\xff"), ("y", b"\xfe")])
        run.advance("1s")
        assert [(each.offset, each.attempts) for each in run.dead_letters("dead")] == [(0, 2)]
    assert calls == [b"1"] * 2


@pytest.fixture
def silent() -> Iterator[None]:
    """The report of a test can't have surrogates, and what was logged is a part of it."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("retry_topics", [(), ("1s",)])
def test_an_error_with_lone_surrogates_is_escaped(retry_topics: Any) -> None:
    app = App()

    @app.handler("orders", group="g", retry_topics=retry_topics, dead_letters="dead")
    def handle(order: bytes) -> None:
        raise ValueError("no file \udcff")

    with app.test() as run:
        run.send("orders", b"1")
        run.advance("1s")
        (letter,) = run.dead_letters("dead")
    assert letter.reason == "ValueError: no file \\udcff"


def test_a_timestamp_that_is_no_date_is_kept_as_a_number() -> None:
    message = Message("orders", 0, 0, FAR_MS, None, b"1")
    said = dict(letter_headers(message, "g", "no", 1))
    assert said["dead-letter.timestamp"] == b"%d ms" % FAR_MS


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_result_that_cannot_be_encoded_is_a_failure_of_its_record(
    exactly_once: bool, concurrency: int
) -> None:
    app = App()

    @app.handler(
        "orders",
        group="g",
        produces="out",
        dead_letters="dead",
        retries=1,
        backoff=0,
        exactly_once=exactly_once,
        concurrency=concurrency,
    )
    def handle(order: bytes) -> Any:
        return {"n": {1}} if order == b"bad" else order

    with app.test() as run:
        run.send("orders", b"bad", key="a")
        run.send("orders", b"good", key="a")
        (letter,) = run.dead_letters("dead")
        assert (letter.offset, letter.attempts) == (0, 2)
        assert [each.value for each in run.records("out")] == [b"good"]


def test_a_result_of_a_batch_that_cannot_be_encoded() -> None:
    app = App()

    @app.handler("orders", group="g", produces="out", dead_letters="dead")
    def handle(orders: list[bytes]) -> list[Any]:
        return [{"n": {1}} if each == b"bad" else each for each in orders]

    with app.test() as run:

        async def send_all() -> None:
            for value in (b"a", b"bad", b"b"):
                run._topics.append("orders", value, None, ())
            await run._settle()

        run._wait(send_all())
        assert [each.offset for each in run.dead_letters("dead")] == [1]
        assert [each.value for each in run.records("out")] == [b"a", b"b"]


# -- tables, and what can't be combined --------------------------------------------------------


def test_a_table_that_fails_becomes_dead_letters_with_their_times() -> None:
    pa = pytest.importorskip("pyarrow")
    app = App()

    @app.handler("orders", group="g", dead_letters="dead")
    def handle(table: pa.Table) -> None:  # type: ignore[name-defined]
        raise ValueError("no")

    with app.test() as run:
        run.send("orders", b"1")
        (letter,) = run.dead_letters("dead")
    assert dict(letter.message.headers)["dead-letter.timestamp"] == b"2026-01-01T00:00:00.000Z"


def test_a_paused_handler_of_tables_handles_nothing() -> None:
    pa = pytest.importorskip("pyarrow")
    app = App()
    rows: list[bytes] = []

    @app.handler("orders", group="g")
    def handle(table: pa.Table) -> None:  # type: ignore[name-defined]
        rows.extend(table.column("value").to_pylist())

    with app.test() as run:
        runner, source = app._runners("handle")[0]
        runner.is_paused = True  # as if it was paused while it polls
        run.send("orders", b"1")
        assert rows == []
        run._wait(app.resume("handle"))
        run._wait(asyncio.sleep(0.05))
        run.advance("1s")
        assert source.assignment
    assert rows == [b"1"]


def test_retry_topics_and_transactions_are_refused_together() -> None:
    with pytest.raises(InvalidArgument, match="retry_topics are read outside of the transactions"):
        App().handler("orders", group="g", exactly_once=True, retry_topics=["1s"])(lambda a: None)


@pytest.mark.parametrize("option", [{"produces": "out"}, {"exactly_once": True}])
def test_tables_send_no_results(option: dict[str, Any]) -> None:
    pa = pytest.importorskip("pyarrow")

    def handle(table: pa.Table) -> None: ...  # type: ignore[name-defined]

    with pytest.raises(InvalidArgument, match="neither produces nor exactly_once"):
        App().handler("orders", group="g", **option)(handle)
