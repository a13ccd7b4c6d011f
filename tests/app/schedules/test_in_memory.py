"""Schedules with the clock of `app.test()`."""

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

import pytest

from barnabas import App
from barnabas.app import Outgoing, memory_topics
from barnabas.app.logs import RecordContext, TextLines
from barnabas.errors import InvalidArgument
from tests.support.wait import wait_until


def test_each_tick_is_handled_once() -> None:
    app = App()
    ticks: list[datetime] = []
    handled: list[str] = []

    @app.schedule(every="10m", produces="cleanups", group="cleaner")
    def clean(tick: datetime) -> str:
        ticks.append(tick)
        return f"of {tick:%H:%M}"

    @app.handler("cleanups", group="cleaner")
    def do(what: str) -> None:
        handled.append(what)

    with app.test() as run:
        run.advance("9m")
        assert handled == []
        run.advance("25m")
        assert handled == ["of 00:10", "of 00:20", "of 00:30"]
        assert ticks[0].isoformat() == "2026-01-01T00:10:00+00:00"
        (first, *_) = run.records("cleanups")
        assert first.key == b"clean"
        assert dict(first.headers)["schedule.tick"] == b"2026-01-01T00:10:00+00:00"


def test_a_cron_expression_in_a_time_zone() -> None:
    app = App()

    @app.schedule("0 6 * * *", produces="reports", group="reporting", time_zone="Europe/Berlin")
    async def daily(tick: datetime) -> dict[str, str]:
        return {"day": tick.date().isoformat(), "hour": str(tick.hour)}

    with app.test() as run:
        run.advance("2d")
        days = [each["day"] for each in run.values("reports", dict)]
        assert days == ["2026-01-01", "2026-01-02"]
        assert {each["hour"] for each in run.values("reports", dict)} == {"6"}


def test_a_year_is_over_at_once() -> None:
    """Nothing happens on most days of it: what looks at a real clock now and then has no part."""
    app = App()

    @app.schedule("0 6 1 * *", produces="reports", group="reporting")
    def monthly(tick: datetime) -> dict[str, int]:
        return {"month": tick.month}

    handled: list[int] = []

    @app.handler("reports", group="reporting")
    def report(wanted: dict[str, int]) -> None:
        handled.append(wanted["month"])

    with app.test() as run:
        run.advance("365d")
    assert handled == list(range(1, 13))


def test_results_may_be_many_none_or_go_elsewhere() -> None:
    app = App()

    @app.schedule(every="1h", produces="many", group="g")
    def several() -> list[object]:
        return ["a", Outgoing("b", key="other"), Outgoing("c", topic="elsewhere"), None]

    @app.schedule(every="1h", produces="never", group="g")
    def nothing() -> None: ...

    with app.test() as run:
        run.advance("1h")
        assert [each.value for each in run.records("many")] == [b"a", b"b"]
        assert [each.key for each in run.records("many")] == [b"several", b"other"]
        assert [each.value for each in run.records("elsewhere")] == [b"c"]
        assert run.records("never") == []


def test_a_function_that_fails_is_called_again_and_delays_no_other() -> None:
    app = App()
    calls: list[datetime] = []

    @app.schedule(every="10m", produces="jobs", group="g")
    def fails_twice(tick: datetime) -> str:
        calls.append(tick)
        if len(calls) <= 2:
            raise ConnectionError("the bank is closed")
        return "done"

    @app.schedule(every="10m", produces="others", group="g")
    def works() -> str:
        return "done"

    with app.test() as run:
        run.advance("10m")
        assert len(run.records("others")) == 1
        run.advance("1m")
        assert len(calls) == 3
        assert len(set(calls)) == 1, "all for the same tick"
        assert len(run.records("jobs")) == 1


def test_what_can_not_be_a_schedule_is_refused() -> None:
    app = App()

    @app.schedule(every="1h", produces="jobs", group="g")
    def job() -> None: ...

    with pytest.raises(InvalidArgument, match="a schedule job exists"):
        app.schedule(every="2h", produces="jobs", group="g")(job)
    with pytest.raises(InvalidArgument, match="takes the time of the tick, or nothing"):
        app.schedule(every="2h", produces="jobs", group="g", name="two")(lambda a, b: None)
    for wrong in ({"produces": "", "group": "g"}, {"produces": "jobs", "group": ""}):
        with pytest.raises(InvalidArgument, match="is the name of a"):
            app.schedule(every="2h", name="other", **wrong)(job)
    with pytest.raises(InvalidArgument, match="time_zone='Atlantis'"):
        app.schedule(every="2h", produces="jobs", group="g", time_zone="Atlantis")


def test_a_function_that_raises_what_ends_a_task_has_failed() -> None:
    app = App()
    calls: list[str] = []

    @app.schedule(every="1h", produces="jobs", group="g")
    async def cancelled() -> str:
        calls.append("cancelled")
        if len(calls) == 1:
            raise asyncio.CancelledError
        return "done"

    @app.every("1h")
    async def timer() -> None:
        calls.append("timer")
        raise asyncio.CancelledError

    with app.test() as run:
        run.advance("61m")
        assert [each.value for each in run.records("jobs")] == [b"done"]
        run.advance("1h")
        assert calls.count("timer") == 2


def test_a_plain_function_may_return_a_coroutine() -> None:
    app = App()
    called: list[str] = []

    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any) -> Any:
            called.append(function.__name__)
            return function(*arguments)

        return call

    @app.schedule(every="1h", produces="jobs", group="g")
    @logged
    async def job() -> str:
        return "done"

    @app.every("1h")
    @logged
    async def timer() -> None:
        called.append("awaited")

    with app.test() as run:
        run.advance("1h")
        assert [each.value for each in run.records("jobs")] == [b"done"]
        assert sorted(called) == ["awaited", "job", "timer"]


def clock_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "clock" in each.getMessage()]


def set_back(clock: memory_topics.TestClock, by_ms: int) -> None:
    """Those who sleep wake as if nothing had happened."""
    clock.now_ms -= by_ms
    clock._sleepers = [(due_ms - by_ms, number, awake) for due_ms, number, awake in clock._sleepers]


def test_a_clock_that_is_set_back_is_said_once_and_fires_nothing_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = App()

    @app.schedule(every="10m", produces="jobs", group="g")
    def job(tick: datetime) -> str:
        return f"{tick:%H:%M}"

    with app.test() as run:
        run.advance("25m")
        set_back(run._clock, 20 * 60_000)
        wait_until(lambda: [run.advance("0s"), clock_lines(caplog)][1], "it is not seen")
        run.advance("14m")
        run.advance("5m")
        assert [each.value for each in run.records("jobs")] == [b"00:10", b"00:20"]
        run.advance("6m")
        assert [each.value for each in run.records("jobs")] == [b"00:10", b"00:20", b"00:30"]
    (said,) = clock_lines(caplog)
    assert "schedules of g" in said
    assert "2026-01-01T00:2" in said


def test_a_clock_that_is_set_back_between_two_looks_stops_no_schedule() -> None:
    app = App()

    @app.schedule(every="10m", produces="jobs", group="g")
    def job(tick: datetime) -> str:
        return f"{tick:%H:%M}"

    with app.test() as run:
        clock, looks = run._clock, 0
        time_ms = clock.time_ms

        def jumping() -> int:
            nonlocal looks
            now_ms = time_ms()
            if now_ms % 600_000 == 0 and (looks := looks + 1) % 2 == 0:
                return now_ms - 60_000
            return now_ms

        clock.time_ms = jumping  # type: ignore[method-assign]
        run.advance("31m")
        assert [each.value for each in run.records("jobs")] == [b"00:10", b"00:20", b"00:30"]


def test_lines_of_the_log_name_process_and_schedule(caplog: pytest.LogCaptureFixture) -> None:
    app = App()

    @app.schedule(every="10m", produces="jobs", group="g")
    def fails() -> None:
        logging.getLogger("bank").warning("closed")
        raise ConnectionError

    caplog.handler.addFilter(RecordContext())
    with caplog.at_level(logging.INFO), app.test() as run:
        run.advance("10m")
    pid = os.getpid()
    said = [each.getMessage() for each in caplog.records]
    assert f"process {pid} calls the schedules of g: fails" in said
    assert f"process {pid}: schedule fails failed; it is called again" in said
    (line,) = [TextLines().format(each) for each in caplog.records if each.name == "bank"]
    assert line.endswith(f"[pid={pid} handler=fails]")
