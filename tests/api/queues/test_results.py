"""Results of jobs, in both faces: each submitter gets its own, whoever is killed."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import QueueMessage
from barnabas.client.results.job_ids import JOB_ID_HEADER, RESULTS_HEADER
from barnabas.errors import ClientClosed, InvalidArgument, JobFailed, UnknownTopic
from tests.api.faces import Face
from tests.api.queues.conftest import Jobs
from tests.cli.conftest import Cli
from tests.support.wait import LIMIT_S, wait_until

WORKER = """
import sys, time
import barnabas

servers, topic, name = sys.argv[1:]

def handle(job):
    if name == "stuck":
        print(job.value, flush=True)
        time.sleep(1000)
    return name

with barnabas.Queue(servers, topic, group=topic, value_format="int") as queue:
    queue.run(handle)
"""


@contextmanager
def worker(
    servers: str, topic: str, handler: Callable[[QueueMessage], object], **options: Any
) -> Iterator[barnabas.Queue]:
    """Handles jobs in a thread."""
    options = {"value_format": "int", **options}
    with barnabas.Queue(servers, topic, group=topic, **options) as queue:
        thread = threading.Thread(target=queue.run, args=[handler])
        thread.start()
        try:
            yield queue
        finally:
            queue.stop()
            thread.join()


def double(job: QueueMessage) -> int:
    return 2 * int(job.value)


def test_each_job_has_its_own_result(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0, partitions=3)
    with (
        worker(queue_servers, topic, double),
        face.queue(queue_servers, topic, group=topic, value_format="int") as queue,
        barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as other,
    ):
        mine = [queue.submit(number) for number in range(20)]
        others = [other.submit(number) for number in range(100, 120)]
        assert [each.result(LIMIT_S) for each in mine] == [2 * n for n in range(20)]
        assert [each.result(LIMIT_S) for each in others] == [2 * n for n in range(100, 120)]
        assert mine[0].done()
        assert mine[0].exception() is None


def test_results_are_awaited(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)

    async def run() -> None:
        async with barnabas.aio.Queue(
            queue_servers, topic, group=topic, value_format="int"
        ) as queue:
            first, second = [await queue.submit(number) for number in (4, 5)]
            async with asyncio.timeout(LIMIT_S):
                assert await asyncio.gather(first, second) == [8, 10]
                assert await first == 8, "as often as somebody asks"

    with worker(queue_servers, topic, double):
        asyncio.run(run())


@dataclass
class Receipt:
    number: int
    paid: bool


def test_results_have_a_type(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)

    def pay(job: QueueMessage) -> object:
        return Receipt(job.value, paid=True) if job.value else "nothing to pay"

    options = {"result": Receipt, "max_deliveries": 1, "dead_letters": f"{topic}-dead"}
    with (
        worker(queue_servers, topic, pay, **options),
        barnabas.Queue(
            queue_servers, topic, group=topic, value_format="int", result=Receipt
        ) as queue,
    ):
        assert queue.submit(7).result(LIMIT_S) == Receipt(7, paid=True)
        with pytest.raises(JobFailed, match="Receipt"):  # what returns something else has failed
            queue.submit(0).result(LIMIT_S)


def test_who_takes_jobs_one_by_one_accepts_with_a_result(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic, value_format="int") as queue:
        submitted = [queue.submit(number) for number in range(3)]
        with pytest.raises(TimeoutError, match=f"job {submitted[0].id} has no result after 0.1 s"):
            submitted[0].result(0.1)
        taken = [queue.get(LIMIT_S) for _ in range(3)]
        taken[0].accept(result={"was": taken[0].value})
        taken[1].accept()
        taken[2].reject("a bad number")
        assert submitted[0].result(LIMIT_S) == {"was": 0}
        assert submitted[1].result(LIMIT_S) is None
        with pytest.raises(JobFailed, match="has failed: a bad number") as caught:
            submitted[2].result(LIMIT_S)
        assert (caught.value.job_id, caught.value.reason) == (submitted[2].id, "a bad number")


def test_a_dead_letter_is_told(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)

    def fail(job: QueueMessage) -> None:
        raise ConnectionError(f"the bank is closed for {job.value}")

    with (
        worker(queue_servers, topic, fail, dead_letters=f"{topic}-dead", max_deliveries=2),
        face.queue(queue_servers, topic, group=topic, value_format="int") as queue,
    ):
        failed = queue.submit(3)
        assert "ConnectionError: the bank is closed for 3" in str(failed.exception(LIMIT_S))


def test_a_job_that_is_replayed_has_a_later_result(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    letters = f"{topic}-dead"
    with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:

        def refuse(job: QueueMessage) -> None:
            job.reject("closed today")

        with worker(queue_servers, topic, refuse, dead_letters=letters):
            failed = queue.submit(3).exception(LIMIT_S)
            assert isinstance(failed, JobFailed)
        Cli(queue_servers).ok("dead-letters", "replay", letters)
        with worker(queue_servers, topic, double):

            def later() -> int | None:
                job = queue.submitted(failed.job_id)
                return None if job.exception(LIMIT_S) else job.result()

            assert wait_until(later) == 6


def test_an_id_finds_the_result_from_anywhere(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0, partitions=3)
    with worker(queue_servers, topic, double):
        with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:
            before = [queue.submit(number) for number in range(10)]
            for each in before:
                each.result(LIMIT_S)
        with face.queue(queue_servers, topic, group=topic, value_format="int") as queue:
            again = [queue.submitted(each.id) for each in before]
            assert [each.result(LIMIT_S) for each in again] == [2 * n for n in range(10)]
    with (
        barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as submitter,
        face.queue(queue_servers, topic, group=topic, value_format="int") as queue,
    ):
        waited = queue.submitted(submitter.submit(21).id)  # nobody has taken it yet
        with worker(queue_servers, topic, double):
            assert waited.result(LIMIT_S) == 42


def test_jobs_for_later_have_results(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with (
        worker(queue_servers, topic, double),
        face.queue(queue_servers, topic, group=topic, value_format="int") as queue,
    ):
        assert queue.submit(6, delay="200ms").result(LIMIT_S) == 12


def test_a_job_of_several_steps_has_the_result_of_the_last(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    first, second = jobs(0), jobs(0)
    with barnabas.Queue(queue_servers, second, group=second, value_format="int") as next_step:

        def begin(job: QueueMessage) -> str:
            next_step.put(job.value + 1, continues=job)
            return "not the result"

        with (
            worker(queue_servers, first, begin),
            worker(queue_servers, second, double, results_of=first),
            face.queue(queue_servers, first, group=first, value_format="int") as queue,
        ):
            submitted = [queue.submit(number) for number in range(5)]
            assert [each.result(LIMIT_S) for each in submitted] == [2, 4, 6, 8, 10]
    with barnabas.Admin(queue_servers) as admin:
        assert f"{second}.results" not in admin.topics()


def test_a_step_is_accepted_when_the_next_one_is_stored(queue_servers: str, jobs: Jobs) -> None:
    first, second = jobs(0), jobs(0)
    with (
        barnabas.Queue(queue_servers, first, group=first, value_format="int") as queue,
        barnabas.Queue(queue_servers, second, group=second) as next_step,
    ):
        queue.put(1)
        job = queue.get(LIMIT_S)
        assert job is not None
        next_step.put(b"x" * 10_000_000, continues=job)  # which the broker refuses
        job.accept().result(LIMIT_S)
        again = queue.get(LIMIT_S)
        assert again is not None
        assert (again.value, again.delivery_count) == (1, 2)
        next_step.put(b"small", continues=again)
        again.accept().result(LIMIT_S)
        found = next_step.get(LIMIT_S)
        assert found is not None
        assert found.value == b"small"


def test_a_step_that_is_never_stored_makes_a_dead_letter(queue_servers: str, jobs: Jobs) -> None:
    first, second = jobs(0), jobs(0)
    letters = f"{first}-dead"
    with barnabas.Queue(queue_servers, second, group=second) as next_step:

        def begin(job: QueueMessage) -> object:
            next_step.put(b"x" * 10_000_000, continues=job)
            return object()  # which is no JSON, and not looked at

        with (
            worker(queue_servers, first, begin, dead_letters=letters, max_deliveries=2),
            barnabas.Queue(queue_servers, first, group=first, value_format="int") as queue,
        ):
            failed = queue.submit(1).exception(LIMIT_S)
            assert "what came of the job could not be stored" in str(failed)

    def handle(job: QueueMessage) -> str:
        return "of a dead letter"

    with (
        worker(queue_servers, letters, handle, value_format="bytes"),
        barnabas.Queue(queue_servers, first, group=first, value_format="int") as queue,
    ):
        assert isinstance(failed, JobFailed)
        again = queue.submitted(failed.job_id)
        assert "could not be stored" in str(again.exception(LIMIT_S))


def test_jobs_from_elsewhere_are_done_though_nobody_can_be_told(
    queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(0)
    done: list[int] = []
    with worker(queue_servers, topic, lambda job: done.append(job.value)) as queue:
        gone = f"{topic}.results".encode()
        for number, (job_id, reply_to) in enumerate(
            [
                (b"0" * 32, gone),
                (b"no id", gone),
                (b"", b""),
                (b"0" * 32, b"secrets"),
                (b"0" * 32, b"../x.results"),
                (b"0" * 32, b"x" * 300 + b".results"),
            ]
        ):
            queue.put(number, headers=[(JOB_ID_HEADER, job_id), (RESULTS_HEADER, reply_to)])
        wait_until(lambda: sorted(done) == [0, 1, 2, 3, 4, 5])
    with barnabas.Admin(queue_servers) as admin:
        assert not {f"{topic}.results", "secrets"} & admin.topics().keys()


def test_a_job_can_not_have_its_result_put_among_those_of_others(
    queue_servers: str, jobs: Jobs
) -> None:
    """The worker may write there, and whoever put the job may not."""
    topic, other, given = jobs(0), jobs(0), jobs(0)
    done: list[int] = []
    with (
        worker(queue_servers, topic, lambda job: done.append(job.value) or 7, results_of=[given]),
        barnabas.Queue(queue_servers, other, group=other, value_format="int") as others,
        barnabas.Queue(queue_servers, given, group=given, value_format="int") as earlier,
        barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue,
    ):
        waiting, continued = others.submit(0), earlier.submit(0)  # which no worker does
        for number, job in enumerate((waiting, continued)):
            place = (other, given)[number]
            results = f"{place}.results".encode()
            headers = [(JOB_ID_HEADER, job.id.encode()), (RESULTS_HEADER, results)]
            queue.put(number, headers=headers)
        assert continued.result(LIMIT_S) == 7
        assert queue.submit(2).result(LIMIT_S) == 7
        assert sorted(done) == [0, 1, 2]
        assert not waiting.done()
    with barnabas.Admin(queue_servers) as admin:
        assert sum(admin.offsets(f"{other}.results", "latest").values()) == 0


def test_a_result_that_is_too_large_is_told(queue_servers: str) -> None:
    topic = f"jobs-{uuid4().hex[:8]}"
    with barnabas.Admin(queue_servers) as admin:
        admin.create_topic(topic, configs={"max.message.bytes": 2_000})
    with (
        worker(queue_servers, topic, lambda job: "x" * job.value),
        barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue,
    ):
        assert queue.submit(1_000).result(LIMIT_S) == "x" * 1_000
        failed = queue.submit(5_000).exception(LIMIT_S)
        assert "the job is done, but its result could not be stored" in str(failed)


def test_what_cannot_be_asked_is_said(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic, value_format="int") as queue:
        with pytest.raises(InvalidArgument, match="'x' is not a job id"):
            queue.submitted("x")
        with pytest.raises(UnknownTopic, match=f"{topic}.results"):
            queue.submitted("0" * 32)
        waiting = queue.submit(1)
    with pytest.raises(ClientClosed, match="closed before the job had a result"):
        waiting.result(LIMIT_S)
    with (
        face.queue(queue_servers, [topic, "other"], group=topic) as queue,
        pytest.raises(InvalidArgument, match="several topics"),
    ):
        queue.submit(b"1")


def test_the_result_of_a_job_whose_worker_was_killed(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)

    def start(name: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", WORKER, queue_servers, topic, name]
        return subprocess.Popen(command, stdout=subprocess.PIPE)

    with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:
        submitted = queue.submit(5)
        stuck = start("stuck")
        try:
            assert stuck.stdout is not None
            assert stuck.stdout.readline() == b"5\n"
        finally:
            stuck.send_signal(signal.SIGKILL)
            stuck.communicate()
        healthy = start("healthy")
        try:
            assert submitted.result(LIMIT_S) == "healthy"
        finally:
            healthy.terminate()
            healthy.communicate()


def test_a_job_that_is_dropped_after_its_retries_has_its_error_as_its_result(
    queue_servers: str, jobs: Jobs
) -> None:
    topic, seen = jobs(0), []
    with barnabas.Admin(queue_servers) as admin:
        admin.set_configs({"share.delivery.count.limit": 3}, group=topic)

    def fail(job: QueueMessage) -> None:
        seen.append(job.delivery_count)
        raise ConnectionError("the bank is closed")

    with worker(queue_servers, topic, fail, retry_delay_s=0.01) as queue:
        with pytest.raises(JobFailed, match=r"the bank is closed.*delivered 3 times"):
            queue.submit(1).result(LIMIT_S)
        assert seen == [1, 2, 3]


def test_a_job_that_is_released_for_the_last_time_has_failed(
    queue_servers: str, jobs: Jobs
) -> None:
    """And one that is accepted then has not."""
    topic = jobs(0)
    with barnabas.Admin(queue_servers) as admin:
        admin.set_configs({"share.delivery.count.limit": 2}, group=topic)
    with barnabas.Queue(queue_servers, topic, group=topic, value_format="int") as queue:
        dropped, done = queue.submit(0), queue.submit(1)
        for _ in range(4):
            job = queue.get(LIMIT_S)
            assert job is not None
            if job.value and job.delivery_count == 2:
                job.accept("done")
            else:
                job.release()
        assert done.result(LIMIT_S) == "done"
        with pytest.raises(JobFailed, match="released; delivered 2 times"):
            dropped.result(LIMIT_S)
