"""Virtual time and simulated processes."""

import asyncio

import pytest

from barnabas.sim.network.network import Network
from barnabas.sim.process.loop import ProcessLoop, SimulatedExecutor
from barnabas.sim.process.simulator import Simulator, Stuck


def _process(simulator: Simulator, name: str = "p", **options: object) -> ProcessLoop:
    return ProcessLoop(simulator, Network(simulator), name, name, simulator.source(name), **options)


def test_sleep_takes_virtual_time_and_the_order_is_that_of_the_deadlines() -> None:
    simulator = Simulator(1)
    process = _process(simulator)
    seen: list[tuple[int, str]] = []

    async def nap(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        seen.append((simulator.now_us // 1000, name))

    for seconds, name in ((3.0, "c"), (1.0, "a"), (2.0, "b")):
        process.call_soon(lambda s=seconds, n=name: process.create_task(nap(s, n)))
    simulator.run_until(10_000_000)
    assert seen == [(1000, "a"), (2000, "b"), (3000, "c")]


def test_a_fast_clock_reaches_its_deadlines_earlier() -> None:
    simulator = Simulator(1)
    seen: dict[str, int] = {}
    for name, rate in (("slow", 0.5), ("fast", 2.0)):
        process = _process(simulator, name, clock_rate=rate)
        process.call_later(1, lambda n=name: seen.__setitem__(n, simulator.now_us))
    simulator.run_until(10_000_000)
    assert seen["fast"] == pytest.approx(500_000, abs=10)
    assert seen["slow"] == pytest.approx(2_000_000, abs=10)


def test_a_killed_process_does_nothing_any_more_and_a_paused_one_does_it_later() -> None:
    simulator = Simulator(1)
    killed, paused = _process(simulator, "killed"), _process(simulator, "paused")
    seen: list[tuple[str, int]] = []
    for process in (killed, paused):
        process.call_later(1, lambda p=process: seen.append((p.name, simulator.now_us)))
    simulator.after(500_000, killed.kill)
    simulator.after(500_000, paused.pause)
    simulator.after(4_000_000, paused.resume)
    simulator.run_until(10_000_000)
    assert seen == [("paused", 4_000_000)]


def test_jobs_of_a_single_thread_wait_for_each_other() -> None:
    simulator = Simulator(1)
    process = _process(simulator, job_delay_us=lambda: 1_000_000)
    finished: list[tuple[str, int]] = []
    one, two = SimulatedExecutor(1), SimulatedExecutor(2)

    async def work() -> None:
        for name, threads in (("a", one), ("b", one), ("c", two), ("d", two)):
            future = process.run_in_executor(threads, lambda n=name: n)
            future.add_done_callback(
                lambda f: finished.append((f.result(), round(simulator.now_us, -6)))
            )

    process.call_soon(lambda: process.create_task(work()))
    simulator.run_until(10_000_000)
    assert sorted(finished) == [
        ("a", 1_000_000),
        ("b", 2_000_000),
        ("c", 1_000_000),
        ("d", 1_000_000),
    ]


def test_shutting_threads_down_does_what_was_queued() -> None:
    simulator = Simulator(1)
    process = _process(simulator)
    threads = SimulatedExecutor(1)
    seen: list[int] = []

    async def work() -> None:
        for number in range(3):
            process.run_in_executor(threads, seen.append, number)
        threads.shutdown()
        assert seen == [0, 1, 2]

    process.call_soon(lambda: process.create_task(work()))
    simulator.run_until(1_000_000)
    assert seen == [0, 1, 2]


def test_a_loop_without_end_is_noticed() -> None:
    simulator = Simulator(1)

    def again() -> None:
        simulator.after(0, again)

    again()
    with pytest.raises(Stuck):
        simulator.run_until(1)


def test_streams_of_randomness_are_repeatable_and_independent() -> None:
    draws = {
        (seed, name): Simulator(seed).source(name).random() for seed in (1, 2) for name in "ab"
    }
    assert len(set(draws.values())) == 4
    assert Simulator(1).source("a").random() == draws[1, "a"]
