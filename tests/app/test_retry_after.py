"""`RetryAfter` and `GiveUp`: a handler says how long its record has to wait, or that it is over."""

import pytest

from barnabas import App
from barnabas.errors import GiveUp, RetryAfter


def names_of(app: App) -> list[str]:
    with app.test() as run:
        run.send("calls", "x")
        passed: list[str] = []
        for each in ("calls.retry.1s", "calls.retry.1m", "calls.retry.10m", "dead"):
            passed += [each] * len(run.records(each))
            run.advance("10m")
        return passed


@pytest.mark.parametrize(
    ("after_s", "passed"),
    [
        (0.5, ["calls.retry.1s", "calls.retry.1m", "calls.retry.10m", "dead"]),
        (30, ["calls.retry.1m", "calls.retry.10m", "dead"]),
        (3600, ["calls.retry.10m", "dead"]),
    ],
)
def test_the_record_waits_in_the_first_topic_that_is_long_enough(
    after_s: float, passed: list[str]
) -> None:
    app = App()

    @app.handler(
        "calls", group="g", retries=5, retry_topics=["1s", "1m", "10m"], dead_letters="dead"
    )
    async def call(value: str) -> None:
        raise RetryAfter(after_s, "busy")

    assert names_of(app) == passed


def test_blocking_retries_wait_for_so_long() -> None:
    app = App()
    seen: list[str] = []

    @app.handler("calls", group="g", retries=1, backoff="1s")
    async def call(value: str) -> None:
        seen.append(value)
        if len(seen) == 1:
            raise RetryAfter(60)

    with app.test() as run:
        run.send("calls", "x")
        run.advance("59s")
        assert seen == ["x"]
        run.advance("1s")
        assert seen == ["x", "x"]


@pytest.mark.parametrize("retry_topics", [[], ["1m"]])
def test_what_is_given_up_is_a_dead_letter_at_once(retry_topics: list[str]) -> None:
    app = App()

    @app.handler("calls", group="g", retries=3, retry_topics=retry_topics, dead_letters="dead")
    async def call(value: str) -> None:
        raise GiveUp("no such account")

    with app.test() as run:
        run.send("calls", "x")
        (letter,) = run.dead_letters("dead")
        assert letter.attempts == 1
        assert letter.reason == "GiveUp: no such account"
