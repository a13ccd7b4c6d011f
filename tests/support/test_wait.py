"""The waiting helpers: what they return, and what they say when they give up."""

import asyncio

import pytest

from tests.support.wait import wait_until, wait_until_async


def test_what_the_condition_found_is_returned() -> None:
    found = iter([None, "", "x"])
    assert wait_until(lambda: next(found)) == "x"


def test_a_condition_may_be_asynchronous() -> None:
    found = iter([0, 0, 7])

    async def look() -> int:
        return next(found)

    assert asyncio.run(wait_until_async(look)) == 7
    assert asyncio.run(wait_until_async(lambda: 8)) == 8


def never() -> bool:
    return False


def test_giving_up_says_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match=r"no leader \(waited 0.01 s\)"):
        wait_until(never, "no leader", timeout_s=0.01)
    with pytest.raises(AssertionError, match="1 of 2 are up"):
        asyncio.run(wait_until_async(never, lambda: "1 of 2 are up", timeout_s=0.01))


def test_without_a_complaint_the_condition_is_shown() -> None:
    with pytest.raises(AssertionError, match="not true: never"):
        wait_until(never, timeout_s=0.01)
    with pytest.raises(AssertionError, match=r"not true: .*lambda: 1 > 2"):
        wait_until(lambda: 1 > 2, timeout_s=0.01)
