"""One thread for the cores of all clients: when it runs, when it ends, and how it is waited for."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.errors import ClientClosed, DeliveryTimedOut, WaitsForItself
from tests.api.clock import AioClock, Clock, Core
from tests.support.wait import LIMIT_S, wait_until, wait_until_async


def engines() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "barnabas-engine"]


def test_the_first_client_starts_it_and_the_last_one_stops_it() -> None:
    assert not engines()
    with Clock() as first:
        with Clock() as second:
            assert len(engines()) == 1
            assert 0 <= second.age_s() < 5
        assert first.age_s() >= 0
    assert not engines()
    with Clock() as third:
        assert third.age_s() >= 0
    assert not engines()


def test_both_faces_share_it() -> None:
    async def both() -> None:
        async with AioClock() as aio:
            with Clock() as clock:
                assert await aio.age_s() >= 0
                assert clock.age_s() >= 0
                assert len(engines()) == 1

    asyncio.run(both())
    assert not engines()


def test_errors_of_the_core_come_through() -> None:
    with Clock() as clock, pytest.raises(LookupError, match="as asked"):
        clock.fail()

    async def fail() -> None:
        async with AioClock() as aio:
            with pytest.raises(LookupError, match="as asked"):
                await aio.fail()

    asyncio.run(fail())


def test_a_closed_client_says_so() -> None:
    clock = Clock()
    clock.close()
    clock.close()
    with pytest.raises(ClientClosed, match="this Clock is closed"):
        clock.age_s()
    assert clock.core.said == ["closed"]


def test_closing_raises_once_what_the_core_raises_and_leaves_nothing_behind() -> None:
    clock = Clock()
    clock.core.failing = LookupError("not delivered")
    with pytest.raises(LookupError, match="not delivered"):
        clock.close()
    clock.close()
    assert not engines()


def test_what_closing_raises_masks_no_exception() -> None:
    def in_a_thread() -> None:
        with Clock() as clock:
            clock.core.failing = DeliveryTimedOut("not delivered")
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        in_a_thread()
    assert caught.value.__notes__ == ["Besides, closing the Clock failed: not delivered"]

    async def in_a_task() -> None:
        async with AioClock() as clock:
            clock.core.failing = DeliveryTimedOut("not delivered")
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        asyncio.run(in_a_task())
    assert caught.value.__notes__ == ["Besides, closing the AioClock failed: not delivered"]


def test_whoever_waits_while_somebody_else_closes_is_told() -> None:
    clock = Clock()
    with ThreadPoolExecutor() as pool:
        asleep = pool.submit(clock.sleep, 60)
        wait_until(lambda: clock.core.said == ["sleeps"])
        clock.close()
        with pytest.raises(ClientClosed):
            asleep.result(LIMIT_S)
    assert not engines()

    async def in_tasks() -> None:
        aio = AioClock()
        asleep = asyncio.create_task(aio.sleep(60))
        await wait_until_async(lambda: aio.core.said == ["sleeps"])
        await aio.close()
        with pytest.raises(ClientClosed):
            await asleep

    asyncio.run(in_tasks())


def test_many_threads_use_one_client() -> None:
    with Clock() as clock, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: clock.age_s() >= 0, range(400)))


def test_many_threads_come_and_go() -> None:
    def visit(_: int) -> bool:
        with Clock() as clock:
            return clock.age_s() >= 0

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(visit, range(200)))
    assert not engines()


def interrupt_when(condition: Callable[[], bool]) -> None:
    """Press Ctrl-C, so to speak, as soon as something holds."""

    def press() -> None:
        wait_until(condition, "no caller waits")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()


def test_ctrl_c_ends_a_wait_and_cancels_the_core() -> None:
    with Clock() as clock:
        interrupt_when(lambda: bool(clock.core.said))
        with pytest.raises(KeyboardInterrupt):
            clock.sleep(60)
        clock.age_s()
        assert clock.core.said == ["sleeps", "cancelled"]


def test_ctrl_c_ends_closing() -> None:
    clock = Clock()
    clock.core.closing_s = 60
    interrupt_when(clock.core.closing.is_set)
    with pytest.raises(KeyboardInterrupt):
        clock.close()
    wait_until(lambda: not engines(), "the engine runs on")
    assert clock.core.said == []


def test_cancelling_a_task_cancels_the_core() -> None:
    async def cancel() -> list[str]:
        async with AioClock() as aio:
            asleep = asyncio.create_task(aio.sleep(60))
            await wait_until_async(lambda: aio.core.said)
            asleep.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asleep
            await aio.age_s()
            return list(aio.core.said)

    assert asyncio.run(cancel()) == ["sleeps", "cancelled"]


def test_a_blocking_application_does_not_hold_up_the_core() -> None:
    async def block() -> None:
        async with AioClock() as aio:
            asleep = asyncio.create_task(aio.sleep(0.05))
            await wait_until_async(lambda: aio.core.said)
            # A handler that computes: it gives nothing back to its loop.
            wait_until(lambda: aio.core.said == ["sleeps", "slept"], "the core stands still")
            assert await asleep == "slept"

    asyncio.run(block())


def test_a_callback_that_would_wait_for_itself_is_told() -> None:
    with Clock() as clock:

        async def callback() -> None:
            clock.age_s()

        with pytest.raises(WaitsForItself, match="callback of this Clock"):
            clock._registration.submit(callback()).result(LIMIT_S)


def test_a_client_that_is_dropped_is_closed_in_the_background() -> None:
    core = Core()
    clock = Clock(core)
    clock.age_s()
    with pytest.warns(ResourceWarning, match="this Clock was not closed"):
        del clock
    wait_until(lambda: not engines(), "the engine runs on")
    assert core.said == ["closed"]


def test_nobody_who_comes_while_it_is_closed_is_left_waiting() -> None:
    def use(clock: Clock, gate: threading.Barrier) -> None:
        gate.wait()
        try:
            while True:
                clock.age_s()
        except ClientClosed:
            return

    with ThreadPoolExecutor(4) as pool:
        for _ in range(50):
            clock, gate = Clock(), threading.Barrier(4)
            users = [pool.submit(use, clock, gate) for _ in range(3)]
            gate.wait()
            clock.close()
            for user in users:
                user.result(LIMIT_S)
    assert not engines()
