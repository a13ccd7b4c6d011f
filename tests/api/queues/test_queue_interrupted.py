"""Ctrl-C while a queue is at work: jobs that have begun end, and all others are free at once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

import barnabas
from tests.support.wait import LIMIT_S, wait_until

COUNT = 40
HOUR_MS = 3_600_000
SETTINGS = {
    "group.share.max.record.lock.duration.ms": HOUR_MS,
    "group.share.record.lock.duration.ms": HOUR_MS,
    "share.coordinator.state.topic.num.partitions": 1,
}
"""No lock expires by itself while a test waits."""

BLOCKING = """
import os, sys, time
import barnabas

def handle(job):
    os.write(1, b"begun %d\\n" % job.offset)
    time.sleep(1)
    os.write(1, b"done %d\\n" % job.offset)

servers, topic = sys.argv[1:]
with barnabas.Queue(servers, topic, group=topic, prefetch=20) as queue:
    queue.run(handle, concurrency=3)
"""
ASYNCIO = """
import asyncio, os, sys
import barnabas.aio

async def handle(job):
    os.write(1, b"begun %d\\n" % job.offset)
    await asyncio.sleep(1)
    os.write(1, b"done %d\\n" % job.offset)

async def main(servers, topic):
    async with barnabas.aio.Queue(servers, topic, group=topic, prefetch=20) as queue:
        await queue.run(handle, concurrency=3)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: barnabas.Cluster) -> str:
    name = f"jobs-{uuid4().hex[:8]}"
    cluster.create_topic(name, partitions=1)
    return name


def put(cluster: barnabas.Cluster, topic: str, size: int = 0) -> None:
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        for number in range(COUNT):
            producer.send(topic, b"%d" % number + b"." * size)


@contextmanager
def started(*command: str) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # what is read line by line must not swallow the rest
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def others_get(cluster: barnabas.Cluster, topic: str, wanted: set[int]) -> set[int]:
    """What another worker gets until it has all that is wanted."""
    got: set[int] = set()
    with barnabas.Queue(cluster.bootstrap_servers, topic, group=topic) as queue:

        def all_came() -> bool:
            job = queue.get(0.2)
            if job is not None:
                got.add(job.offset)
                job.accept()
            return wanted <= got

        wait_until(all_came, lambda: f"{wanted - got} are locked, or lost")
    return got


def offsets(lines: list[bytes], word: bytes) -> set[int]:
    return {int(line.split()[1]) for line in lines if line.startswith(word)}


@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_a_service_that_is_stopped_ends_in_order(
    cluster: barnabas.Cluster, topic: str, program: str
) -> None:
    """As systemd and Kubernetes do it: SIGTERM, a while, SIGKILL."""
    put(cluster, topic)
    with started("-c", program, cluster.bootstrap_servers, topic) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=LIMIT_S)
    lines += out.splitlines()
    begun, done = offsets(lines, b"begun"), offsets(lines, b"done")
    assert begun == done, error.decode()
    assert 3 <= len(done) < COUNT
    assert (process.returncode, error) == (0, b"")
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        assert not admin.describe_group(topic).members, "it has not left"
    left = set(range(COUNT)) - done
    assert others_get(cluster, topic, left) == left, "some were accepted, and came again"


@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_jobs_that_take_too_long_are_left_to_others_when_a_service_is_stopped(
    cluster: barnabas.Cluster, topic: str, program: str
) -> None:
    put(cluster, topic)
    program = program.replace("sleep(1)", "sleep(3600)")
    program = program.replace("concurrency=3", "concurrency=3, stop_timeout_s=0.2")
    with started("-c", program, cluster.bootstrap_servers, topic) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"begun")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    everything = set(range(COUNT))
    assert others_get(cluster, topic, everything) == everything


@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_a_program_that_handles_the_signal_keeps_its_handler(
    cluster: barnabas.Cluster, topic: str, program: str
) -> None:
    put(cluster, topic)
    own = "import signal, os\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(17))\n"
    with started("-c", own + program, cluster.bootstrap_servers, topic) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"begun")
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 17


@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_run_ends_after_the_jobs_that_have_begun(
    cluster: barnabas.Cluster, topic: str, program: str
) -> None:
    put(cluster, topic)
    with started("-c", program, cluster.bootstrap_servers, topic) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=LIMIT_S)
    lines += out.splitlines()
    begun, done = offsets(lines, b"begun"), offsets(lines, b"done")
    assert begun == done, error.decode()
    assert 3 <= len(done) < COUNT
    assert process.returncode == -signal.SIGINT, error.decode()
    assert error.splitlines()[-1] == b"KeyboardInterrupt"
    left = set(range(COUNT)) - done
    assert others_get(cluster, topic, left) == left, "some were accepted, and came again"


def test_the_command_gives_back_what_it_has_not_printed(
    cluster: barnabas.Cluster, topic: str
) -> None:
    put(cluster, topic, size=10_000)  # together more than a pipe holds
    share = ["consume", topic, "--share", topic, "--from-beginning"]
    with started("-m", "barnabas", *share, "-b", cluster.bootstrap_servers) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"0"
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 130
        out, error = process.communicate(timeout=LIMIT_S)
    assert error == b""
    printed = out.count(b"\n")
    assert printed < COUNT
    others_get(cluster, topic, set(range(printed, COUNT)))


def test_the_command_keeps_accepted_what_it_has_printed(
    cluster: barnabas.Cluster, topic: str
) -> None:
    put(cluster, topic)
    share = ["consume", topic, "--share", topic, "--from-beginning"]
    with (
        barnabas.Admin(cluster.bootstrap_servers) as admin,
        started("-m", "barnabas", *share, "-b", cluster.bootstrap_servers) as process,
    ):
        assert process.stdout is not None
        for number in range(COUNT):
            assert process.stdout.readline() == b"%d\n" % number
        wait_until(
            lambda: set(admin.group_offsets(topic).values()) == {COUNT}, "they are not accepted"
        )
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=LIMIT_S) == (b"", b"")
        assert process.returncode == 130
    put(cluster, topic)
    new = set(range(COUNT, 2 * COUNT))
    assert others_get(cluster, topic, new) == new
