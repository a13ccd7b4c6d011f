"""Who waits for a commit hears of it once: when it comes, fails, or takes too long."""

import asyncio

from barnabas.broker.replica.commit_waits import CommitWaits
from barnabas.wire.errors import ErrorCode
from tests.client.virtual_time import run

Heard = list[tuple[str, ErrorCode]]


def wait(waits: CommitWaits, heard: Heard, name: str, offset: int, timeout_ms: int | None) -> None:
    waits.add(offset, timeout_ms, lambda error: heard.append((name, error)))


def test_in_the_order_of_the_offsets() -> None:
    async def test() -> None:
        waits, heard = CommitWaits(asyncio.get_running_loop()), Heard()
        for number in (1, 3, 3, 7):
            wait(waits, heard, str(number), number, 10_000)
        waits.release(0, ErrorCode.NONE)
        assert heard == []
        waits.release(5, ErrorCode.NONE)
        assert [name for name, _ in heard] == ["1", "3", "3"]
        waits.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert heard[3:] == [("7", ErrorCode.NOT_LEADER_OR_FOLLOWER)]
        waits.release(100, ErrorCode.NONE)
        assert len(heard) == 4

    run(test())


def test_each_has_a_patience_of_its_own() -> None:
    async def test() -> None:
        waits, heard = CommitWaits(asyncio.get_running_loop()), Heard()
        wait(waits, heard, "for ever", 1, None)
        wait(waits, heard, "long", 1, 600_000)
        wait(waits, heard, "short", 2, 30)
        wait(waits, heard, "longer", 3, 60)
        await asyncio.sleep(0.1)
        assert heard == [
            ("short", ErrorCode.REQUEST_TIMED_OUT),
            ("longer", ErrorCode.REQUEST_TIMED_OUT),
        ]
        waits.release(9, ErrorCode.NONE)
        assert heard[2:] == [("for ever", ErrorCode.NONE), ("long", ErrorCode.NONE)]

    run(test())


def test_nobody_but_who_waits_for_ever_waits_on() -> None:
    async def test() -> None:
        waits, heard = CommitWaits(asyncio.get_running_loop()), Heard()
        wait(waits, heard, "long", 1, 600_000)
        wait(waits, heard, "for ever", 1, None)
        wait(waits, heard, "short", 2, 30)
        waits.expire_all()
        timed_out = [("long", ErrorCode.REQUEST_TIMED_OUT), ("short", ErrorCode.REQUEST_TIMED_OUT)]
        assert heard == timed_out
        wait(waits, heard, "next", 3, 30)
        await asyncio.sleep(0.06)
        assert heard[2:] == [("next", ErrorCode.REQUEST_TIMED_OUT)]
        waits.release(9, ErrorCode.NONE)
        assert heard[3:] == [("for ever", ErrorCode.NONE)]

    run(test())


def test_who_waits_may_wait_again_at_once() -> None:
    async def test() -> None:
        waits, heard = CommitWaits(asyncio.get_running_loop()), Heard()
        waits.add(1, 1000, lambda _: wait(waits, heard, "again", 2, 1000))
        waits.release(1, ErrorCode.NONE)
        assert heard == []
        waits.release(2, ErrorCode.NONE)
        assert heard == [("again", ErrorCode.NONE)]

    run(test())
