"""Handlers over share groups: deliveries are counted, and each record is acknowledged alone."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import App, Message
from barnabas.app.testing import TestRun
from barnabas.errors import HandlerFailed, InvalidArgument, RetryAfter
from tests.support.wait import wait_until, wait_until_async


def test_deliveries_are_retried_after_a_pause_and_become_dead_letters() -> None:
    app = App()
    seen: list[str] = []

    @app.handler(
        "jobs",
        group="g",
        share=True,
        retries=2,
        backoff=["1s", "10s"],
        dead_letters="dead",
        produces="out",
    )
    async def work(job: str) -> str:
        seen.append(job)
        if job == "bad" or (job == "slow" and seen.count("slow") == 1):
            raise RetryAfter(30, "busy") if job == "slow" else ValueError("no")
        return job.upper()

    with app.test() as run:
        for job in ("one", "bad", "slow", "two"):
            run.send("jobs", job)
        assert seen == ["one", "bad", "slow", "two"]
        run.advance("1s")
        assert seen.count("bad") == 2
        run.advance("10s")
        (letter,) = run.dead_letters("dead")
        assert (letter.attempts, letter.reason) == (3, "ValueError: no")
        assert seen.count("slow") == 1
        run.advance("20s")
        assert run.values("out", str) == ["ONE", "TWO", "SLOW"]
        queue = run._topics.queues[0]
        assert len(queue.accepted) == 3
        assert len(queue.rejected) == 1
    statistics = app.handlers["work"].statistics
    assert (statistics.retried, statistics.dead_letters, statistics.handled) == (3, 1, 4)


def test_without_dead_letters_it_stops_or_skips() -> None:
    stopping, skipping = App(), App()

    @stopping.handler("jobs", group="g", share=True)
    @skipping.handler("jobs", group="g", share=True, on_failure="skip")
    def work(job: str) -> None:
        raise ValueError(job)

    with pytest.raises(HandlerFailed, match="ValueError: x"), stopping.test() as run:
        run.send("jobs", "x")
    with skipping.test() as run:
        run.send("jobs", "x")
        run.send("jobs", b"\xff")  # no text
        assert len(run._topics.queues[0].rejected) == 2


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"exactly_once": True}, "exactly_once"),
        ({"retry_topics": ["1s"]}, "retry_topics"),
        ({"group": None}, "group=None"),
    ],
)
def test_what_share_groups_have_not(option: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):

        @App().handler("topic", **{"group": "g", "share": True, **option})
        async def handle(value: bytes) -> None: ...


@pytest.mark.parametrize("options", [{}, {"on_failure": "skip"}, {"dead_letters": "dead"}])
@pytest.mark.parametrize("delivery_count", [2, 4])
def test_deliveries_that_were_not_handled_are_no_attempts(
    options: dict[str, Any], delivery_count: int
) -> None:
    app = App()
    seen: list[str] = []

    @app.handler("jobs", group="g", share=True, **options)
    def work(job: str) -> None:
        seen.append(job)

    with app.test() as run:
        run._topics.max_deliveries = 5
        deliver_again(run, "one", delivery_count)
        assert seen == ["one"]
        assert len(run._topics.queues[0].accepted) == 1
        assert not run.records("dead")


def deliver_again(run: TestRun, value: str, delivery_count: int) -> None:
    """A record that was released before."""
    job = Message("jobs", 0, 0, 0, None, value.encode())
    run._topics.queues[0]._again.append((job, delivery_count))
    run.advance("1s")


def test_the_last_delivery_becomes_a_dead_letter_or_is_handled() -> None:
    letters, without = App(), App()
    seen: list[str] = []

    @letters.handler("jobs", group="g", share=True, retries=9, dead_letters="dead")
    @without.handler("jobs", group="g", share=True, retries=9, on_failure="skip")
    def work(job: str) -> None:
        seen.append(job)
        raise ValueError(job)

    with letters.test() as run:
        run._topics.max_deliveries = 3
        deliver_again(run, "one", 3)
        (letter,) = run.dead_letters("dead")
        assert letter.attempts == 2
        assert "no worker has finished it" in letter.reason
    assert not seen
    with without.test() as run:
        run._topics.max_deliveries = 3
        deliver_again(run, "two", 3)
        assert seen == ["two"]
        assert len(run._topics.queues[0].rejected) == 1  # not released: that would drop it


def test_the_others_finish_what_they_have_when_one_fails() -> None:
    app = App()
    begun: list[str] = []
    done: list[str] = []
    failing = asyncio.Event()

    @app.handler("jobs", group="g", share=True, concurrency=3)
    async def work(job: str) -> None:
        begun.append(job)
        if job == "bad":
            await wait_until_async(lambda: len(begun) == 3)
            failing.set()
            raise ValueError(job)
        await failing.wait()
        await asyncio.sleep(0.1)  # it is known by then
        done.append(job)

    with app.test() as run:
        for job in (b"one", b"bad"):
            run._topics.append("jobs", job, None, ())
        with pytest.raises(HandlerFailed, match="ValueError: bad"):
            run.send("jobs", "two")
    assert sorted(done) == ["one", "two"]
    queue = run._topics.queues[0]
    assert len(queue.accepted) == 2


def test_pausing_a_handler_and_no_rewind(servers: str, app_broker: barnabas.Cluster) -> None:
    """Another worker gets what comes meanwhile, also what a fetch under way has locked."""
    topic = f"jobs-{uuid4().hex[:8]}"
    app_broker.create_topic(topic)  # one partition, which both have
    app = App(servers)
    seen: list[str] = []

    @app.handler(topic, group=f"g-{topic}", share=True, concurrency=4)
    def work(job: str) -> None:
        seen.append(job)

    async def run() -> None:
        async with app.started():
            await app.send(topic, "1")
            await wait_until_async(lambda: seen == ["1"])
            await app.pause("work")
            await app.send(topic, "2")  # a fetch is waiting for it
            async with barnabas.aio.Queue(servers, topic, group=f"g-{topic}") as other:
                job = await other.get()
                assert job is not None
                assert job.value == b"2"
                assert seen == ["1"]
                job.release()
            with pytest.raises(InvalidArgument, match="no offset to go back to"):
                await app.rewind("work")
            await app.resume("work")
            await wait_until_async(lambda: seen == ["1", "2"])

    asyncio.run(run())


SOURCE = """
import os, signal, barnabas

app = barnabas.App("{servers}")

@app.handler(
    "{topic}", group="g-{topic}", share=True, retries=2, backoff="10ms",
    dead_letters="{topic}-dead", produces="{topic}-out",
)
def handle(number: str) -> str:
    if number == "13":
        os.kill(os.getpid(), signal.SIGKILL)
    if int(number) % 20 == 7:
        raise ValueError("poison")
    return number

app.run()
"""


def test_a_job_that_kills_its_workers_becomes_a_dead_letter(
    app_broker: barnabas.Cluster, tmp_path: Path
) -> None:
    """Three workers die of it, and the fourth gets the last delivery and sets it aside."""
    servers, count, topic = app_broker.bootstrap_servers, 60, f"jobs-{uuid4().hex[:8]}"
    app_broker.create_topic(topic)  # one partition: dead members keep theirs for a while
    app_broker.create_topic(f"{topic}-out")
    with barnabas.Admin(servers) as admin:
        admin.set_configs({"share.delivery.count.limit": 4}, group=f"g-{topic}")
    source = SOURCE.format(servers=servers, topic=topic)
    (tmp_path / "service.py").write_text(source)
    with barnabas.Producer(servers) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "service.py"], cwd=tmp_path)

    results: Counter[int] = Counter()
    dead: dict[int, tuple[int, str]] = {}
    worker, deaths = start(), 0
    with barnabas.Consumer(servers, [f"{topic}-out", f"{topic}-dead"]) as consumer:

        def look() -> bool:
            nonlocal worker, deaths
            if worker.poll() is not None:
                assert worker.returncode == -signal.SIGKILL
                worker, deaths = start(), deaths + 1
            for message in consumer.poll(0.2):
                said = dict(message.headers)
                if message.topic.endswith("out"):
                    results[int(message.value)] += 1
                else:
                    dead[int(message.value)] = (
                        int(said["dead-letter.deliveries"] or 0),
                        (said["dead-letter.reason"] or b"").decode(),
                    )
            return len(results) + len(dead) == count

        try:
            wait_until(look, lambda: f"{deaths} deaths, {dead}, {len(results)} results")
        finally:
            worker.kill()
            worker.wait()
    assert set(dead) == {7, 13, 27, 47}
    assert dead[7] == (3, "ValueError: poison")
    assert dead[13][0] == 3
    assert "no worker has finished it" in dead[13][1]
    assert deaths == 3
