"""The guarantees of the pattern "priorities": no job is lost, and ordinary ones get their turn."""

import os
import signal
import subprocess
import sys
from typing import Any, cast

import barnabas
from examples.priorities import Lanes
from tests.examples.documents import ROOT
from tests.support.wait import LIMIT_S, wait_until

JOBS, DEATHS = 12, 3
WORKER = """
import os, signal, sys
import barnabas
from examples.priorities import Lanes

servers, jobs = sys.argv[1], int(sys.argv[2])
urgent, ordinary = [
    barnabas.Queue(servers, topic, group="workers", value_format="str", prefetch=1)
    for topic in ("jobs-urgent", "jobs-ordinary")
]
with urgent, ordinary, barnabas.Producer(servers, value_format="str") as producer:
    lanes = Lanes(urgent, ordinary)
    while True:
        job = lanes.get(timeout_s=0.2)
        if job is None:
            continue
        if not jobs:
            os.kill(os.getpid(), signal.SIGKILL)
        jobs -= 1
        producer.send("done", job.value).result()
        job.accept().result()
"""
"""It dies with a job in its hands, after so many others."""


class Lane:
    """Of which one job is prefetched, always."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, timeout_s: float) -> str:
        return self.name


def test_an_ordinary_job_waits_for_three_urgent_ones() -> None:
    lanes = Lanes(*cast("list[Any]", [Lane("urgent"), Lane("ordinary")]))
    assert [lanes.get(0) for _ in range(8)] == 2 * [*3 * ["urgent"], "ordinary"]


def test_no_job_is_lost_when_workers_are_killed() -> None:
    wanted = {f"{lane} {number}" for lane in ("urgent", "ordinary") for number in range(JOBS)}
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        for topic in ("jobs-urgent", "jobs-ordinary", "done"):
            cluster.create_topic(topic)
        with barnabas.Producer(servers, value_format="str") as producer:
            for name in wanted:
                producer.send(f"jobs-{name.split()[0]}", name)

        def worker(jobs: int) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-c", WORKER, servers, str(jobs)]
            return subprocess.Popen(words, cwd=ROOT)

        for jobs in range(DEATHS):
            assert worker(jobs).wait(LIMIT_S) == -signal.SIGKILL
        last = worker(10**9)
        try:
            done: list[str] = []
            with barnabas.Consumer(servers, "done", value_format="str") as consumer:

                def is_complete() -> bool:
                    done.extend(each.value for each in consumer.poll(0.1))
                    return wanted <= {*done}

                wait_until(is_complete)
        finally:
            os.kill(last.pid, signal.SIGKILL)
            last.wait()
    assert {*done} == wanted
