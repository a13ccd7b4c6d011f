"""What a queue promises, in both faces: each job is done by one worker, and comes again if not."""

import threading
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

import barnabas
from barnabas.errors import InvalidArgument, LockLost, NobodyListens, UndecodableRecord
from tests.api.faces import Face
from tests.api.queues.conftest import LOCK_S, Jobs
from tests.support.wait import wait_until

WAIT_S = 60
_LIMIT = "max.message.bytes"


@dataclass
class Mail:
    to: str


def take(queue: Any, count: int) -> list[Any]:
    """So many jobs, none of them settled."""
    taken = []
    deadline = time.monotonic() + WAIT_S
    while len(taken) < count and time.monotonic() < deadline:
        job = queue.get(1)
        if job is not None:
            taken.append(job)
    assert len(taken) == count, f"{len(taken)} of {count} jobs came"
    return taken


def nothing_comes(queue: Any, timeout_s: float = LOCK_S + 0.5) -> None:
    """By default for longer than a lock: what is locked by mistake would come then."""
    job = queue.get(timeout_s)
    assert job is None, f"{job!r} has come"


def test_a_job_is_accepted_when_the_next_one_is_asked_for(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(10, partitions=2)
    settings = {"group": topic, "value_format": "int"}
    with face.queue(queue_servers, topic, **settings) as queue:
        done = []
        for job in queue:
            assert job.delivery_count == 1
            done.append(job.value)
            if len(done) == 10:
                break
    assert sorted(done) == list(range(10))
    with face.queue(queue_servers, topic, **settings) as queue:
        (job,) = take(queue, 1)  # the loop was left in its turn
        assert (job.value, job.delivery_count) == (done[-1], 2)
        job.accept().result(WAIT_S)
        nothing_comes(queue)


def test_an_exception_releases_the_job(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(3)

    def work(queue: Any) -> None:
        for job in queue:
            if job.offset == 1:
                raise KeyError("the handler's")

    with pytest.raises(KeyError), face.queue(queue_servers, topic, group=topic) as queue:
        work(queue)
    with face.queue(queue_servers, topic, group=topic) as queue:
        found = {job.offset: job.delivery_count for job in take(queue, 2)}
    assert found.keys() == {1, 2}
    assert found[1] == 2


def test_a_job_is_settled_by_the_application(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(3)
    with face.queue(queue_servers, topic, group=topic) as queue:
        accepted, released, rejected = take(queue, 3)
        for answer in (accepted.accept(), released.release(), rejected.reject("no use")):
            answer.result(WAIT_S)
        with pytest.raises(InvalidArgument, match="already"):
            accepted.release()
        (again,) = take(queue, 1)
        assert (again.offset, again.delivery_count) == (released.offset, 2)
        with again:
            pass
        queue.flush()
        nothing_comes(queue)


def test_a_released_job_comes_after_its_delay(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(1)
    with face.queue(queue_servers, topic, group=topic) as queue:
        (job,) = take(queue, 1)
        released_at = time.monotonic()
        job.release(delay=LOCK_S + 1.5)  # longer than a lock
        (again,) = take(queue, 1)
        assert time.monotonic() - released_at >= LOCK_S + 1.4
        assert again.delivery_count == 2
        with pytest.raises(InvalidArgument, match="from 0 to 900"):
            again.release(delay=1000)
        again.accept()


def test_locks_are_renewed_while_a_job_takes_long(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(1)
    with (
        face.queue(queue_servers, topic, group=topic) as slow,
        barnabas.Queue(queue_servers, topic, group=topic) as other,
    ):
        (job,) = take(slow, 1)
        nothing_comes(other, 2 * LOCK_S)
        job.accept().result(WAIT_S)
        nothing_comes(other, 0.5)


def test_a_lock_that_is_not_renewed_expires(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(1)
    with (
        face.queue(queue_servers, topic, group=topic, max_lock_renewal_s=0) as slow,
        barnabas.Queue(queue_servers, topic, group=topic) as other,
    ):
        (job,) = take(slow, 1)
        (again,) = take(other, 1)
        assert again.delivery_count == 2
        with pytest.raises(LockLost, match="may be delivered again"):
            job.accept().result(WAIT_S)
        again.accept().result(WAIT_S)


def test_renewing_by_hand(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(1)
    with (
        face.queue(queue_servers, topic, group=topic, max_lock_renewal_s=0) as slow,
        barnabas.Queue(queue_servers, topic, group=topic) as other,
    ):
        (job,) = take(slow, 1)
        for _ in range(4):
            nothing_comes(other, LOCK_S / 3)
            job.renew().result(WAIT_S)
        job.accept().result(WAIT_S)
        nothing_comes(other, 0.5)


def test_dead_letters_have_the_reason_and_the_place(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic, letters = jobs(2), jobs(0)
    failures: list[int] = []

    def handle(job: Any) -> None:
        if job.value == 0:
            failures.append(job.delivery_count)
            raise ValueError("this job is no good")

    settings = {"group": topic, "value_format": "int", "max_deliveries": 3}
    with face.queue(queue_servers, topic, dead_letters=letters, **settings) as queue:
        stopper = threading.Thread(target=_stop_when_filled, args=(queue, queue_servers, letters))
        stopper.start()
        queue.run(handle)
        stopper.join()
    assert failures == [1, 2, 3]
    with barnabas.Consumer(queue_servers, letters, value_format="int") as consumer:
        (letter,) = consumer.poll(WAIT_S)
    headers = {name: (value or b"").decode() for name, value in letter.headers}
    assert letter.value == 0
    assert headers["dead-letter.reason"] == "ValueError: this job is no good"
    assert headers["dead-letter.topic"] == topic
    assert headers["dead-letter.offset"] == "0"
    assert headers["dead-letter.group"] == topic
    assert headers["dead-letter.deliveries"] == "3"
    with face.queue(queue_servers, topic, **settings) as queue:
        nothing_comes(queue)


def test_a_job_is_locked_until_its_dead_letter_is_stored(
    queue_servers: str, jobs: Jobs, caplog: pytest.LogCaptureFixture
) -> None:
    """Released, it would be dropped by the broker after a few more deliveries."""
    topic, letters = jobs(0), jobs(0)

    def handle(_: Any) -> None:
        raise ValueError("this job is no good")

    with (
        barnabas.Admin(queue_servers) as admin,
        barnabas.Queue(
            queue_servers, topic, group=topic, dead_letters=letters, max_deliveries=1
        ) as queue,
    ):
        admin.set_configs({_LIMIT: 100}, topic=letters)
        queue.put(b"x" * 500)
        worker = threading.Thread(target=queue.run, args=[handle])
        worker.start()
        wait_until(lambda: [each for each in caplog.messages if "not stored yet" in each])
        admin.set_configs({_LIMIT: 10000}, topic=letters)
        _stop_when_filled(queue, queue_servers, letters)
        worker.join()
    with barnabas.Consumer(queue_servers, letters) as consumer:
        (letter,) = consumer.poll(WAIT_S)
    assert dict(letter.headers)["dead-letter.deliveries"] == b"1"
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:
        nothing_comes(queue)


@pytest.mark.parametrize("dead_letters", [False, True])
def test_closing_waits_for_no_pause(queue_servers: str, jobs: Jobs, dead_letters: bool) -> None:
    """Of a job that is to be released later, or whose dead letter can't be stored."""
    topic, letters = jobs(0), jobs(0)
    with barnabas.Admin(queue_servers) as admin:
        admin.set_configs({_LIMIT: 100}, topic=letters)
    queue = barnabas.Queue(
        queue_servers,
        topic,
        group=topic,
        retry_delay_s=900,
        dead_letters=letters if dead_letters else None,
        max_deliveries=1,
        close_timeout_s=3_600,
    )
    queue.put(b"x" * 500)
    job = queue.get(WAIT_S)
    assert job is not None
    failed = job.reject("no good") if dead_letters else job.release(delay=900)
    queue.put(b"another").result(WAIT_S)
    other = queue.get(WAIT_S)
    assert other is not None
    other.accept().result(WAIT_S)
    closing = threading.Thread(target=queue.close)
    closing.start()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    failed.result(WAIT_S)
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:
        (again,) = take(queue, 1)
        assert again.delivery_count == 2


def _stop_when_filled(queue: Any, servers: str, topic: str) -> None:
    with barnabas.Consumer(servers, topic) as consumer:
        consumer.poll(WAIT_S)
    queue.stop()


def test_a_job_that_can_not_be_decoded(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic, letters = jobs(0), jobs(0)
    with barnabas.Producer(queue_servers) as producer:
        producer.send(topic, b"{")
        producer.send(topic, b"{}")
    settings = {"group": topic, "value_format": "json"}
    with (
        pytest.raises(UndecodableRecord),
        face.queue(queue_servers, topic, **settings) as queue,
    ):
        take(queue, 1)
    with face.queue(queue_servers, topic, dead_letters=letters, **settings) as queue:
        (job,) = take(queue, 1)
        assert job.value == {}
        job.accept()
        nothing_comes(queue, 0.5)
    with barnabas.Consumer(queue_servers, letters) as consumer:
        (letter,) = consumer.poll(WAIT_S)
    assert letter.value == b"{"
    assert b"Expecting" in (dict(letter.headers)["dead-letter.reason"] or b"")


def test_a_topic_that_the_queue_makes_for_dead_letters_keeps_them(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(1, 2)
    letters = f"{topic}-dead"
    with face.queue(queue_servers, topic, group=topic, dead_letters=letters) as queue:
        (job,) = take(queue, 1)
        job.reject("no use").result(WAIT_S)
    with barnabas.Admin(queue_servers) as admin:
        assert admin.configs(topic=letters)["retention.ms"].value == "-1"
        assert len(admin.describe_topic(letters).partitions) == 2
        assert sum(admin.offsets(letters).values()) == 1


def test_a_topic_of_dead_letters_is_as_safe_as_that_of_the_jobs(
    queue_servers: str, jobs: Jobs
) -> None:
    """It has as many copies, and room for a job that is as large as allowed."""
    topic = jobs(0)
    letters, limit = f"{topic}-dead", 4_000
    with barnabas.Admin(queue_servers) as admin:
        admin.set_configs({"min.insync.replicas": 1, _LIMIT: limit}, topic=topic)
    large = Random(1).randbytes(limit - 100)
    with barnabas.Producer(queue_servers) as producer:
        producer.send(topic, large).result()
    with barnabas.Queue(queue_servers, topic, group=topic, dead_letters=letters) as queue:
        (job,) = take(queue, 1)
        job.reject("no use").result(WAIT_S)
    with barnabas.Admin(queue_servers) as admin:
        configs = admin.configs(topic=letters)
        assert configs["min.insync.replicas"].is_own
        assert int(configs[_LIMIT].value or 0) > limit
    with barnabas.Consumer(queue_servers, letters) as consumer:
        (letter,) = consumer.poll(WAIT_S)
    assert letter.value == large


def test_a_failure_of_a_handler_is_one_line_of_the_log(
    face: Face, queue_servers: str, jobs: Jobs, caplog: pytest.LogCaptureFixture
) -> None:
    topic = jobs(1)

    with face.queue(queue_servers, topic, group=topic) as queue:

        def handle(job: Any) -> None:
            if job.delivery_count == 2:
                queue.stop()
                return
            raise ConnectionError("the bank is closed")

        queue.run(handle)
    (record,) = [each for each in caplog.records if each.name == "barnabas.queue"]
    assert record.getMessage() == (
        f"{topic}-0 at offset 0: delivery 1 failed: ConnectionError: the bank is closed"
    )
    assert record.exc_info is None


def test_a_queue_that_would_lose_jobs_at_the_limit_of_the_group_is_refused(
    face: Face, queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(1)
    settings = {"group": topic, "dead_letters": f"{topic}-dead"}
    with (
        pytest.raises(InvalidArgument, match=r"after 5 deliveries \(share.delivery.count.limit\)"),
        face.queue(queue_servers, topic, max_deliveries=5, **settings) as queue,
    ):
        queue.get(WAIT_S)


def test_types_of_values(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with face.queue(queue_servers, topic, group=topic, value=Mail) as queue:
        queue.put(Mail("ada"))
        (job,) = take(queue, 1)
        assert job.value == Mail("ada")
        job.accept()
    with pytest.raises(InvalidArgument, match="leave value_format out"):
        barnabas.Queue(queue_servers, topic, group=topic, value=Mail, value_format="json")


def test_get_from_a_cluster_that_can_not_be_reached(face: Face) -> None:
    with (
        pytest.raises(NobodyListens, match="connection refused"),
        face.queue("localhost:1", "jobs", group="workers") as queue,
    ):
        queue.get(0.5)


def test_workers_handle_jobs_at_the_same_time(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(40)
    done: Counter[int] = Counter()
    with face.queue(queue_servers, topic, group=topic, value_format="int") as queue:

        def handle(job: Any) -> None:
            done[job.value] += 1
            if len(done) == 40:
                queue.stop()

        queue.run(handle, concurrency=8)
        queue.flush()
    assert done == Counter(range(40))
    with face.queue(queue_servers, topic, group=topic) as queue:
        nothing_comes(queue)


def test_threads_work_at_the_same_time(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(4)
    together = threading.Barrier(4, timeout=WAIT_S)
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:

        def handle(_: barnabas.QueueMessage) -> None:
            together.wait()
            queue.stop()

        queue.run(handle, concurrency=4)


def test_more_workers_than_partitions_share_the_jobs(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    settings = {"group": topic, "value_format": "int", "prefetch": 1}
    with (
        barnabas.Queue(queue_servers, topic, **settings) as first,
        barnabas.Queue(queue_servers, topic, **settings) as second,
    ):
        nothing_comes(first, 0.2)
        nothing_comes(second, 0.2)
        for number in range(2):
            first.put(number).result(WAIT_S)
        (one,) = take(first, 1)
        (two,) = take(second, 1)
        assert {one.value, two.value} == {0, 1}
        one.accept()
        two.accept()


def test_no_more_than_prefetch_is_locked(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(10)
    with (
        face.queue(queue_servers, topic, group=topic, prefetch=3) as slow,
        barnabas.Queue(queue_servers, topic, group=topic, prefetch=10) as other,
    ):
        held = take(slow, 3)
        rest = take(other, 7)
        nothing_comes(slow, 0.5)
        assert {job.offset for job in (*held, *rest)} == set(range(10))


def test_a_new_group_starts_where_it_is_told_to(face: Face, queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(2)
    with face.queue(queue_servers, topic, group=f"{topic}-late", start="latest") as queue:
        deadline = time.monotonic() + WAIT_S
        while (job := queue.get(0.2)) is None and time.monotonic() < deadline:
            queue.put(b"new")  # from when on it reads depends on when it has joined
        assert job.value == b"new"
        job.accept()


def test_what_can_not_be_right_is_refused(queue_servers: str) -> None:
    for wrong in (
        {"prefetch": 0},
        {"max_deliveries": 0},
        {"start": "yesterday"},
        {"dead_letters": "jobs"},
        {"retry_delay_s": ()},
        {"retry_delay_s": 1000},
        {"max_lock_renewal_s": -1},
        {"group": ""},
    ):
        with pytest.raises(InvalidArgument):
            barnabas.Queue(queue_servers, "jobs", **{"group": "workers", **wrong})
    with pytest.raises(InvalidArgument, match="reads a topic"):
        barnabas.Queue(queue_servers, group="workers")
