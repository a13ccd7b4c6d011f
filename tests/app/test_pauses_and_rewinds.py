"""Pausing and rewinding while records are in hand: nothing is marked as done that is not."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from barnabas import App, TopicPartition
from barnabas.app.memory_topics import MemorySource
from barnabas.app.testing import TestRun
from barnabas.errors import InvalidArgument
from tests.support.wait import wait_until


class _Recorder(MemorySource):
    """Notes what is asked of it."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.log: list[str] = []

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        self.log.append(f"seek {offset}")
        await super().seek(partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.log.append("begin")
        await super().seek_to_beginning(*partitions)

    async def commit(self) -> None:
        self.log.append("commit")

    def done(self, message: Any) -> None:
        self.log.append(f"done {message.offset}")
        super().done(message)

    def done_up_to(self, message: Any) -> None:
        self.log.append(f"done {message.offset}")
        super().done_up_to(message)


def recorded(app: App) -> tuple[TestRun, Callable[[int], _Recorder]]:
    """A run, and its sources."""
    run = app.test()
    made: list[_Recorder] = []

    def source(topics: Any, _group: str, **_: Any) -> Any:
        made.append(_Recorder(run._topics, topics))
        run._topics.sources.append(made[-1])
        return made[-1]

    run._topics.source = cast("Any", source)  # type: ignore[method-assign]
    return run, made.__getitem__


def append(run: TestRun, topic: str, *values: bytes) -> None:
    async def append() -> None:
        for value in values:
            run._topics.append(topic, value, value, ())

    run._wait(append())


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_paused_handler_holds_what_it_reads(concurrency: int) -> None:
    app = App()
    seen: list[bytes] = []
    release = asyncio.Event()

    @app.handler("orders", group="g", concurrency=concurrency)
    async def handle(order: bytes) -> None:
        if order == b"slow" and concurrency > 1:
            await release.wait()
        seen.append(order)

    run, source_of = recorded(app)
    with run:
        append(run, "orders", b"slow")
        source = source_of(0)
        wait_until(lambda: not source.has_unread)
        runner, _ = app._runners("handle")[0]
        runner.is_paused = True  # as if it was paused while it polls
        append(run, "orders", b"1", b"2")
        wait_until(lambda: runner._held)
        assert [each.value for each in runner._held] == [b"1", b"2"]
        run._wait(app.resume("handle"))
        wait_until(lambda: {b"1", b"2"} <= set(seen))
        assert not [each for each in source.log if each.startswith("seek")]
        if concurrency > 1:
            assert source.done_offsets["orders"] == {1, 2}
        run._loop.call_soon_threadsafe(release.set)
        wait_until(lambda: source.done_offsets["orders"] == {0, 1, 2})
    assert sorted(seen) == [b"1", b"2", b"slow"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_rewind_waits_for_what_is_in_hand(concurrency: int) -> None:
    app = App()
    seen: list[bytes] = []
    release = asyncio.Event()

    @app.handler("orders", group="g", concurrency=concurrency)
    async def handle(order: bytes) -> None:
        if order == b"2":
            await release.wait()
        seen.append(order)

    run, source_of = recorded(app)
    with run:
        append(run, "orders", b"1", b"2")
        wait_until(lambda: seen == [b"1"])
        rewinding = asyncio.run_coroutine_threadsafe(app.rewind("handle"), run._loop)
        run._wait(asyncio.sleep(0.1))
        assert not rewinding.done()
        run._loop.call_soon_threadsafe(release.set)
        rewinding.result()
        wait_until(lambda: sorted(seen) == [b"1", b"1", b"2", b"2"])
        log = source_of(0).log
        assert "begin" in log
        assert "done 1" in log[: log.index("begin")]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_handler_rewinds_itself_to_a_time(exactly_once: bool) -> None:
    app = App()
    seen: list[bytes] = []

    @app.handler("orders", group="g", exactly_once=exactly_once)
    async def handle(order: bytes) -> None:
        seen.append(order)
        if order == b"3" and seen.count(b"3") == 1:
            await app.rewind("handle", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC))

    with app.test() as run:
        run.send("orders", b"1")
        run.advance("10s")
        run.send("orders", b"2")
        run.send("orders", b"3")
        wait_until(lambda: len(seen) == 5)
    assert seen == [b"1", b"2", b"3", b"2", b"3"]


def test_a_rewind_of_a_runner_that_ends_is_refused() -> None:
    app = App()

    @app.handler("orders", group="g")
    async def handle(order: bytes) -> None:
        await asyncio.sleep(0.2)

    with app.test() as run:
        append(run, "orders", b"1")
        wait_until(lambda: not run._topics.sources[0].has_unread)
        rewinding = asyncio.run_coroutine_threadsafe(app.rewind("handle"), run._loop)
        run._wait(asyncio.sleep(0))
        app._runners("handle")[0][0].stop()
        with pytest.raises(InvalidArgument, match="is not running"):
            rewinding.result()


# -- lost partitions, and retry topics ---------------------------------------------------------


def test_records_of_lost_partitions_are_forgotten() -> None:
    app = App()
    seen: list[bytes] = []
    release = asyncio.Event()

    @app.handler("orders", group="g", concurrency=2)
    async def handle(order: bytes) -> None:
        await release.wait()
        seen.append(order)

    with app.test() as run:
        append(run, "orders", b"1", b"2", b"3", b"4")
        runner, _ = app._runners("handle")[0]
        wait_until(lambda: all(runner._current))
        run._wait(runner.lost([TopicPartition("orders", 0)]))
        run._loop.call_soon_threadsafe(release.set)
        wait_until(lambda: not runner._work.size)
    assert seen == [b"1", b"2"]


def test_what_is_due_is_handled_and_committed_before_the_rest_is_put_off() -> None:
    app = App()
    seen: list[bytes] = []

    @app.handler("orders", group="g", retry_topics=["30s"], dead_letters="dead")
    def handle(order: bytes) -> None:
        seen.append(order)
        raise ValueError("no")

    run, source_of = recorded(app)
    with run:
        run.send("orders", b"1")
        source = source_of(1)
        run.advance("10s")
        run.send("orders", b"2")
        run.advance("20s")
        wait_until(lambda: "seek 1" in source.log)
        assert source.log == ["seek 0", "done 0", "commit", "seek 1"]
        run.advance("10s")
        wait_until(lambda: source.done_offsets["orders.retry.30s"] == {0, 1})
    assert seen == [b"1", b"2", b"1", b"2"]


def test_stopping_does_not_wait_for_all_retries_that_are_due() -> None:
    app = App()
    seen: list[bytes] = []

    @app.handler("orders", group="g", retry_topics=["1s"], dead_letters="dead")
    def handle(order: bytes) -> None:
        seen.append(order)
        if len(seen) == 5:  # the second retry
            app._runners("handle")[1][0].stop()
        raise ValueError("no")

    run, source_of = recorded(app)
    with run:
        run._wait(asyncio.sleep(0))
        append(run, "orders", b"1", b"2", b"3")
        wait_until(lambda: len(seen) == 3)
        run.advance("1s")
        wait_until(lambda: app._running is not None and app._running._tasks[1].done())
        assert source_of(1).done_offsets["orders.retry.1s"] == {0, 1}
