"""What is logged of repaired logs."""

import asyncio

import pytest

from barnabas.broker.logs.repairs import Repairs
from tests.support.wait import LIMIT_S


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.fixture
def repairs() -> "Repairs":
    return Repairs(asyncio.new_event_loop())


def test_one_log_has_a_line_as_before(repairs: Repairs, caplog: pytest.LogCaptureFixture) -> None:
    repairs.unclosed("t-0", 545343, 0)
    repairs.truncated("u-1", 7, 9, "/d/set-aside/u-1/20260101T000000.000Z-truncated")
    repairs.say()
    assert lines(caplog) == [
        "t-0 was not closed: scanned 545343 bytes, truncated 0",
        (
            "u-1 ends at 7 now, not at 9; the truncated records are in "
            "/d/set-aside/u-1/20260101T000000.000Z-truncated"
        ),
    ]
    repairs.say()
    assert len(lines(caplog)) == 2


def test_many_logs_share_a_line(repairs: Repairs, caplog: pytest.LogCaptureFixture) -> None:
    for index in range(40):
        repairs.unclosed(f"t-{index}", 100, 0)
        repairs.truncated(f"t-{index}", 7, 9, f"/d/set-aside/t-{index}/now")
    repairs.say()
    scans, cuts = lines(caplog)
    names = "t-0, t-1, t-2, t-3, t-4 and 35 more"
    assert scans == f"40 logs were not closed: scanned 4000 bytes, truncated 0, such as {names}"
    assert cuts.startswith("40 logs end earlier now, as their leaders' do: t-0 at 7 (not 9), t-1 ")
    assert cuts.endswith(" and 35 more; the truncated records are in /d/set-aside")


def test_torn_logs_are_named_first(repairs: Repairs, caplog: pytest.LogCaptureFixture) -> None:
    for index in range(40):
        repairs.unclosed(f"t-{index}", 100, 17 * (index == 23))
    repairs.say()
    (scans,) = lines(caplog)
    assert scans.endswith("scanned 4000 bytes, truncated 17, from t-23 (17)")


def test_they_are_logged_without_being_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    async def logged() -> None:
        repairs = Repairs(asyncio.get_running_loop())
        for index in range(3):
            repairs.unclosed(f"t-{index}", 100, 0)
        assert lines(caplog) == []
        while not lines(caplog):
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(logged(), LIMIT_S))
    assert len(lines(caplog)) == 1
