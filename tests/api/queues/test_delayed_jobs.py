"""Jobs for later, in both faces: never before their time, each once, whoever is killed."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.delays import mover
from barnabas.client.delays.levels import LEVELS_S
from barnabas.client.delays.waiting_records import ENOUGH_RECORDS
from barnabas.errors import InvalidArgument, UnknownGroup
from tests.api.faces import Face
from tests.api.queues.conftest import Jobs
from tests.support.wait import LIMIT_S, wait_until

WORKER = """
import sys
import barnabas

servers, topic = sys.argv[1:]
with barnabas.Queue(servers, topic, group=topic, value_format="int") as queue:
    queue.run(lambda job: None)
"""


def all_of(servers: str, topic: str, count: int) -> Counter[int]:
    """What consumers of committed records see of a topic, once it has `count` different values."""
    seen: Counter[int] = Counter()
    with barnabas.Consumer(servers, topic, value_format="int") as consumer:
        deadline = time.monotonic() + LIMIT_S
        while len(seen) < count:
            seen.update(message.value for message in consumer.poll(1))
            assert time.monotonic() < deadline, f"{count - len(seen)} of {count} are missing"
    return seen


def moved(servers: str, topic: str) -> int:
    """How far the group that moves has come."""
    with barnabas.Admin(servers) as admin:
        try:
            return sum(admin.group_offsets(f"{topic}.delayed").values())
        except UnknownGroup:
            return 0


def test_jobs_come_as_they_were_put_and_not_before_their_time(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic, value_format="str") as queue:
        began = time.time()
        due = {"later": 2.5, "soon": 1.0, "next": 0.3, "now": 0.0}
        for name, delay_s in due.items():
            queue.put(name, b"ada", headers=[("a", b"1")], delay=delay_s)
        came = []
        for job in queue:
            assert time.time() - began >= due[job.value]
            assert (job.key, job.headers) == (b"ada", (("a", b"1"),)), "as it was put"
            assert job.timestamp_ms >= int((began + due[job.value]) * 1000) - 1
            came.append(job.value)
            if len(came) == len(due):
                job.accept()
                break
    assert sorted(came) == sorted(due)


def test_a_job_comes_at_a_time(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic) as queue:
        at = datetime.now(UTC) + timedelta(seconds=1.5)
        queue.put(b"then", at=at)
        queue.put(b"over", at=at - timedelta(days=1))
        over, then = queue.get(LIMIT_S), queue.get(LIMIT_S)
        assert (over.value, then.value) == (b"over", b"then")
        assert datetime.now(UTC) >= at


def test_what_can_not_be_is_said(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic) as queue:
        for wrong, said in (
            ({"delay": "soon"}, "delay='soon'"),
            ({"delay": -1}, "not negative"),
            ({"delay": float("inf")}, "never ends"),
            ({"delay": float("nan")}, "never ends"),
            ({"at": datetime(2030, 1, 1)}, "no time zone"),  # noqa: DTZ001
            ({"delay": 1, "at": datetime.now(UTC)}, "give one of them"),
            ({"delay": 1, "timestamp_ms": 5}, "timestamp of its delivery"),
        ):
            with pytest.raises(InvalidArgument, match=said):
                queue.put(b"", **wrong)


def test_a_topic_may_be_created_by_its_first_job(queue_servers: str) -> None:
    """By a broker that is allowed to, as without a delay."""
    topic = f"jobs-{uuid4().hex[:8]}"
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:
        queue.put(b"first", delay=0.1)
        job = queue.get(LIMIT_S)
        assert job is not None
        assert job.value == b"first"


def test_a_topic_that_is_in_the_way_is_named(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with barnabas.Admin(queue_servers) as admin:
        admin.create_topic(f"{topic}.delayed", partitions=2)
    with (
        barnabas.Queue(queue_servers, topic, group=topic) as queue,
        pytest.raises(InvalidArgument, match=rf"has 2 of the {len(LEVELS_S)} partitions"),
    ):
        queue.put(b"", delay=1)


def test_the_companion_keeps_what_it_has_and_is_as_safe_as_the_topic(queue_servers: str) -> None:
    topic = f"jobs-{uuid4().hex[:8]}"
    with (
        barnabas.Admin(queue_servers) as admin,
        barnabas.Queue(queue_servers, topic, group=topic) as queue,
    ):
        admin.create_topic(topic, configs={"max.message.bytes": 12_345, "retention.ms": 1_000})
        queue.put(b"", delay="1h").result(LIMIT_S)
        configs = admin.configs(topic=f"{topic}.delayed")
        assert configs["max.message.bytes"].value == "12345"
        assert configs["retention.ms"].value == "-1"


def test_more_wait_than_are_kept_in_memory(queue_servers: str, jobs: Jobs) -> None:
    """More than a level lets into memory, put by a process that moves nothing itself."""
    topic, count = jobs(0), 2 * ENOUGH_RECORDS + 10
    with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:
        for number in range(count):
            queue.put(number, delay=1 + number % 7 / 10)
    with barnabas.Admin(queue_servers) as admin:
        assert sum(admin.offsets(f"{topic}.delayed").values()) == count
    with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:
        job = queue.get(LIMIT_S)
        assert job is not None
        job.accept()
        assert set(all_of(queue_servers, topic, count).values()) == {1}


def test_each_job_is_moved_once_while_workers_are_killed(queue_servers: str, jobs: Jobs) -> None:
    """One of two is killed while jobs are moved, and then the other one."""
    servers, topic = queue_servers, jobs(0)
    workers: list[Any] = []

    def start() -> None:
        workers.append(subprocess.Popen([sys.executable, "-c", WORKER, servers, topic]))

    count = 0
    try:
        start()
        for _ in range(2):
            start()
            before = moved(servers, topic)
            with barnabas.Queue(servers, topic, group=topic, value_format="int") as queue:
                for number in range(count, count + 150):
                    queue.put(number, delay=0.2 + number % 30 / 10)
            count += 150
            wait_until(lambda: moved(servers, topic) > before, "nothing is moved")  # noqa: B023
            workers[0].send_signal(signal.SIGKILL)
            workers.pop(0).wait()
        assert set(all_of(servers, topic, count).values()) == {1}
    finally:
        for each in workers:
            each.kill()
            each.wait()


def test_jobs_survive_all_workers_and_the_node() -> None:
    with barnabas.Cluster() as cluster:
        servers, topic = cluster.bootstrap_servers, "jobs"
        cluster.create_topic(topic, partitions=1)
        with barnabas.Queue(servers, topic, group=topic, value_format="int") as queue:
            for number in range(100):
                queue.put(number, delay=0.5 + number % 20 / 10)
            job = queue.get(LIMIT_S)  # so it moves some of them
            assert job is not None
            cluster.kill(1)
            cluster.restart()
            job.accept()
            seen = all_of(servers, topic, 100)
        assert set(seen.values()) == {1}


def test_nothing_waits_for_the_deletion_of_what_was_moved(
    queue_servers: str, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker answers it when all replicas have done it: late, if one of them is down."""
    asked = threading.Event()

    async def never_answered(_cluster: ClusterClient, _offsets: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(mover, "_TIDY_S", 0.1)
    monkeypatch.setattr(mover, "delete_records", never_answered)
    topic = jobs(0)
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:
        for _ in range(2):
            queue.put(b"", delay=0.1)
            job = queue.get(LIMIT_S)
            assert job is not None
            job.accept()
            assert asked.wait(LIMIT_S)


def test_what_was_moved_is_deleted_and_no_longer_lags(
    queue_servers: str, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved to a lower level first, so the ends of transactions are in the log as well."""
    monkeypatch.setattr(mover, "_TIDY_S", 0.1)
    topic = jobs(0)
    with (
        barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue,
        barnabas.Admin(queue_servers) as admin,
    ):
        for number in range(20):
            queue.put(number, delay=1.1)
        for _ in range(20):
            job = queue.get(LIMIT_S)
            assert job is not None
            job.accept()

        def is_tidy() -> bool:
            delayed = f"{topic}.delayed"
            ends = admin.offsets(delayed)
            firsts = admin.offsets(delayed, "earliest")
            done = admin.group_offsets(delayed)
            used = [name for name, end in ends.items() if end]
            return len(used) == 2 and all(done[n] == firsts[n] == ends[n] for n in used)

        wait_until(is_tidy)
