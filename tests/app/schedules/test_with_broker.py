"""Schedules against a real broker: one worker fires, and another one goes on when it is killed."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

import barnabas
from barnabas import App
from barnabas.app.schedules.schedule import TICK_HEADER
from barnabas.records.message import Message
from tests.support.wait import wait_until, wait_until_async

EVERY_S = 0.25
SOURCE = """
import os, barnabas

app = barnabas.App("{servers}", consumer_options={{"session_timeout_ms": 6000}})

@app.schedule(every={every}, produces="{topic}", group="{topic}")
def job() -> str:
    return str(os.getpid())

app.run()
"""


class Workers:
    """Processes of one application."""

    def __init__(self, folder: Path, servers: str, topic: str) -> None:
        self._folder = folder
        source = SOURCE.format(servers=servers, topic=topic, every=EVERY_S)
        (folder / "service.py").write_text(source)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "service.py"], cwd=self._folder, stdout=log, stderr=log
            )
        self.processes[process.pid] = process

    def end(self, pid: int, how: signal.Signals) -> None:
        process = self.processes.pop(pid)
        process.send_signal(how)
        process.wait()

    def log(self) -> str:
        return (self._folder / "log").read_text()[-3000:]

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def workers(tmp_path: Path, servers: str, topic: str) -> Iterator[Workers]:
    workers = Workers(tmp_path, servers, topic)
    try:
        yield workers
    finally:
        workers.close()


def tick_of(message: Message) -> float:
    """In seconds since 1970."""
    moment = dict(message.headers)[TICK_HEADER]
    assert moment is not None
    return datetime.fromisoformat(moment.decode()).timestamp()


def test_no_tick_is_missed_or_doubled_when_workers_die(
    workers: Workers, servers: str, topic: str
) -> None:
    for _ in range(2):
        workers.start()
    records: list[Message] = []
    by_worker: Counter[int] = Counter()
    with barnabas.Consumer(servers, topic) as consumer:

        def comes_from_another(than: set[int]) -> int | None:
            found = consumer.poll(0.1)
            records.extend(found)
            pids = [int(message.value) for message in found]
            by_worker.update(pids)
            return next((pid for pid in pids if pid not in than), None)

        ended: set[int] = set()
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            worker = wait_until(lambda: comes_from_another(ended), workers.log)
            assert worker is not None
            ended.add(worker)
            workers.start()
            if how is not signal.SIGSTOP:
                workers.end(worker, how)
            else:  # it is shut out while it does not know
                workers.processes[worker].send_signal(how)
                wait_until(lambda: comes_from_another(ended), workers.log)
                workers.processes[worker].send_signal(signal.SIGCONT)
                ended.discard(worker)
        wait_until(lambda: comes_from_another(ended), workers.log)
        count = len(records)
        wait_until(lambda: comes_from_another(set(by_worker)) or len(records) > count + 8)
    ticks = [tick_of(each) for each in sorted(records, key=tick_of)]
    assert len(set(ticks)) == len(ticks), "a tick came twice"
    gaps = {round(later - tick, 3) for tick, later in pairwise(ticks)}
    assert gaps == {EVERY_S}, workers.log()


def test_ticks_that_were_missed_while_all_were_down_are_made_up_for(
    workers: Workers, servers: str, topic: str
) -> None:
    workers.start()
    with barnabas.Consumer(servers, topic) as consumer:
        records: list[Message] = []

        def more(than: int) -> bool:
            records.extend(consumer.poll(0.1))
            return len(records) > than

        wait_until(lambda: more(2), workers.log)
        workers.end(next(iter(workers.processes)), signal.SIGKILL)
        until = time.time() + 2
        while time.time() < until:
            more(0)
        before = len(records)
        workers.start()
        wait_until(lambda: more(before + 10), workers.log)
    ticks = sorted(map(tick_of, records))
    gaps = {round(later - tick, 3) for tick, later in pairwise(ticks)}
    assert gaps == {EVERY_S}


def test_the_memory_is_compacted_and_as_safe_as_the_topic(
    app_broker: barnabas.Cluster, servers: str, topic: str
) -> None:
    app = App(servers)

    @app.schedule("* * * * * *", produces=topic, group=topic)
    def job() -> str:
        return "now"

    async def check() -> None:
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:
            found: list[Message] = []

            async def come() -> bool:
                found.extend(await consumer.poll(0.1))
                return len(found) >= 2

            await wait_until_async(come)
        async with barnabas.aio.Admin(servers) as admin:
            configs = await admin.configs(topic=f"{topic}.schedules")
            assert configs["cleanup.policy"].value == "compact"
            assert len((await admin.topics())[f"{topic}.schedules"].partitions) == 1

    asyncio.run(check())
    with barnabas.Consumer(servers, f"{topic}.schedules") as consumer:
        done = wait_until(lambda: list(consumer.poll(0.2)))
    assert {each.key for each in done} == {b"job"}
    assert json.loads(done[-1].value)["times"] == "* * * * * * UTC"


def test_changed_times_begin_now(servers: str, topic: str) -> None:
    """What the new times would have been before is not made up for."""

    async def run(every: str, least: int) -> list[Message]:
        app = App(servers)
        found: list[Message] = []

        @app.schedule(every=every, produces=topic, group=topic)
        def job() -> str:
            return every

        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:

            async def come() -> bool:
                found.extend(await consumer.poll(0.1))
                return sum(each.value == every.encode() for each in found) >= least

            await wait_until_async(come)
        return found

    asyncio.run(run("2s", 1))
    changed_at = time.time()
    found = asyncio.run(run("100ms", 3))
    ticks = [tick_of(each) for each in found if each.value == b"100ms"]
    assert min(ticks) >= changed_at


def test_a_result_that_no_broker_takes_delays_no_other(servers: str, topic: str) -> None:
    app = App(servers)
    calls: list[int] = []

    @app.schedule(every="100ms", produces=topic, group=topic)
    def large() -> str:
        calls.append(1)
        return "x" * 2_000_000 if len(calls) == 1 else "large"

    @app.schedule(every="100ms", produces=topic, group=topic)
    def small() -> str:
        return "small"

    async def check() -> None:
        found: list[Message] = []
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:

            async def come() -> bool:
                found.extend(await consumer.poll(0.1))
                return any(each.value == b"large" for each in found)

            await wait_until_async(come)
        ticks = sorted(tick_of(each) for each in found if each.value == b"small")
        assert {round(later - tick, 3) for tick, later in pairwise(ticks)} == {0.1}
        assert sum(each.value == b"small" for each in found) > 1, "while the other one waits"

    asyncio.run(check())


def test_a_tick_that_was_rolled_back_is_not_done(servers: str, topic: str) -> None:
    """Whatever handlers read: a worker was killed before its transaction was committed."""
    app = App(servers, consumer_options={"isolation": "read_uncommitted"})

    @app.schedule(every="100ms", produces=topic, group=topic)
    def job() -> str:
        return "now"

    times = app.schedules[0].ticks.text
    done = json.dumps({"tick": 1000 * int(time.time() + 3600), "times": times}).encode()
    with barnabas.Admin(servers) as admin:
        admin.create_topic(f"{topic}.schedules", configs={"cleanup.policy": "compact"})
    with (
        suppress(ZeroDivisionError),
        barnabas.Producer(servers, transactional_id=f"{topic}-killed") as producer,
        producer.transaction(),
    ):
        producer.send(f"{topic}.schedules", done, b"job").result()
        raise ZeroDivisionError
    with barnabas.Consumer(servers, f"{topic}.schedules", isolation="read_uncommitted") as consumer:
        assert [each.value for each in wait_until(lambda: consumer.poll(0.2))] == [done]

    async def check() -> None:
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:
            await wait_until_async(lambda: consumer.poll(0.1))

    asyncio.run(check())


def test_what_others_write_to_the_memory_is_no_tick(servers: str, topic: str) -> None:
    """Nor are records of other partitions, that somebody has added."""
    with barnabas.Admin(servers) as admin:
        admin.create_topic(f"{topic}.schedules", partitions=3)
    with barnabas.Producer(servers) as producer:
        for partition in range(3):
            for value in (b"{", b"[]", b'{"tick": "x", "times": 1}', None):
                producer.send(f"{topic}.schedules", value, b"job", partition=partition)

    async def run(least: int) -> list[Message]:
        app = App(servers)

        @app.schedule(every="100ms", produces=topic, group=topic)
        def job() -> str:
            return "now"

        found: list[Message] = []
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:

            async def come() -> bool:
                found.extend(await consumer.poll(0.1))
                return len(found) >= least

            await wait_until_async(come)
        return found

    asyncio.run(run(3))
    ticks = sorted(map(tick_of, asyncio.run(run(20))))
    assert {round(later - tick, 3) for tick, later in pairwise(ticks)} == {0.1}


def test_a_function_that_raises_stop_iteration_is_called_again(servers: str, topic: str) -> None:
    app = App(servers)
    values = iter(["first"])

    @app.schedule(every="100ms", produces=topic, group=topic)
    def job() -> str:
        return next(values)

    async def check() -> None:
        nonlocal values
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:

            async def come() -> Message | None:
                return next(iter(await consumer.poll(0.1)), None)

            first = await wait_until_async(come)
            await asyncio.sleep(0.5)
            values = iter(["second"])
            second = await wait_until_async(come)
            assert [first.value, second.value] == [b"first", b"second"]
            assert round(tick_of(second) - tick_of(first), 3) == 0.1

    asyncio.run(check())


def test_the_group_of_schedules_does_not_lag(servers: str, topic: str) -> None:
    """Also when nobody has members there any more."""
    app = App(servers)

    @app.schedule(every="100ms", produces=topic, group=topic)
    def job() -> str:
        return "now"

    async def ticks() -> None:
        async with app.started(), barnabas.aio.Consumer(servers, topic) as consumer:
            found: list[Message] = []

            async def come() -> bool:
                found.extend(await consumer.poll(0.1))
                return len(found) >= 5

            await wait_until_async(come)

    asyncio.run(ticks())
    name = f"{topic}.schedules"
    with barnabas.Admin(servers) as admin:
        (end,) = admin.offsets(name).values()
        (committed,) = admin.group_offsets(name).values()
    assert end > 5
    assert committed == end
