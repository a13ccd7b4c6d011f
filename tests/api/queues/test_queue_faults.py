"""A queue while leaders and the coordinator of its group die, hang and restart.

Every job is done, and one whose acknowledgement was answered is never delivered again. A leader
that dies may have stored an acknowledgement without an answer: such a job may come again, or not.

A job whose lock was lost with its leader may be with two workers. The second of their
acknowledgements may be answered like the first: the job is done, and does not come again.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

import barnabas
from barnabas import Cluster, Queue, QueueMessage
from barnabas.errors import LockLost
from tests.support.wait import LIMIT_S, wait_until

PARTITIONS = 3
SETTINGS = {
    "group.share.record.lock.duration.ms": 2_000,
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.delivery.count.limit": 10,
    "share.coordinator.state.topic.num.partitions": 3,
}


class Deliveries:
    """What was delivered and accepted, by all workers together."""

    def __init__(self) -> None:
        self.accepted: Counter[int] = Counter()
        self.uncertain: set[int] = set()
        self.after_accepting: list[int] = []
        self.late: set[int] = set()
        """Delivered after they were accepted, though too late to be handled."""
        self.answered = 0
        self._lock = threading.Lock()

    @property
    def done(self) -> set[int]:
        return {*self.accepted, *self.uncertain}

    def deliver(self, job: QueueMessage) -> None:
        """One whose lock expired on its way to the handler may have been accepted by another."""
        with self._lock:
            if job.value not in self.accepted:
                return
            if time.monotonic() < job.deadline:
                self.after_accepting.append(job.value)
            else:
                self.late.add(job.value)

    def accept(self, job: QueueMessage) -> None:
        """Wait for the answer."""
        value = job.value
        try:
            job.accept().result(LIMIT_S)
        except LockLost:
            self.uncertain.add(value)
            return
        with self._lock:
            self.accepted[value] += 1
            self.answered += 1


def work(servers: str, topic: str, deliveries: Deliveries, stop: threading.Event) -> None:
    with Queue(servers, topic, group=topic, value_format="int", prefetch=9) as queue:

        def handle(job: QueueMessage) -> None:
            deliveries.deliver(job)
            time.sleep(0.005)
            deliveries.accept(job)
            if stop.is_set():
                queue.stop()

        threading.Thread(target=lambda: (stop.wait(), queue.stop()), daemon=True).start()
        queue.run(handle, concurrency=3)


class Crew:
    """Two workers of a topic, and a producer that keeps them busy until `finish`."""

    def __init__(self, servers: str, topic: str) -> None:
        self.deliveries = Deliveries()
        self._servers, self._topic = servers, topic
        self._sent: list[int] = []
        self._enough, self._stop = threading.Event(), threading.Event()
        self._workers = [self._start(self._work) for _ in range(2)]
        self._producing = self._start(self._send)

    def _start(self, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        work(self._servers, self._topic, self.deliveries, self._stop)

    def _send(self) -> None:
        sent = self._sent
        with barnabas.Producer(self._servers, value_format="int", linger_ms=0) as producer:
            while not self._enough.is_set():
                place = len(sent) % PARTITIONS
                producer.send(self._topic, len(sent), partition=place).result(LIMIT_S)
                sent.append(len(sent))

    def goes_on(self, count: int) -> None:
        """Wait until so many more jobs are accepted."""
        goal = self.deliveries.answered + count
        wait_until(lambda: self.deliveries.answered >= goal, "the queue does not go on")

    def finish(self) -> None:
        """All jobs are done, and none came again after it was accepted."""
        deliveries = self.deliveries
        self._enough.set()
        self._producing.join(LIMIT_S)
        wait_until(
            lambda: deliveries.done >= set(self._sent),
            lambda: f"{sorted(set(self._sent) - deliveries.done)} were not accepted",
        )
        self._stop.set()
        for worker in self._workers:
            worker.join(LIMIT_S)
        assert deliveries.after_accepting == []
        twice = {value for value, times in deliveries.accepted.items() if times > 1}
        assert not twice & deliveries.late, "accepted again after it was delivered again"
        assert len(twice) < len(self._sent) / 4
        assert len(deliveries.uncertain) < len(self._sent) / 4


@pytest.mark.barnabas(nodes=3, partitions=PARTITIONS, settings=SETTINGS)
def test_every_job_is_accepted_once_while_leaders_and_coordinators_die(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    crew = Crew(barnabas_cluster.bootstrap_servers, barnabas_topic)
    crew.goes_on(100)
    victims = [
        barnabas_cluster.leader_of(barnabas_topic, 0),
        barnabas_cluster.leader_of("__share_group_state", 0),
        barnabas_cluster.leader_of("__consumer_offsets", 0),
    ]
    for victim in victims:
        if victim in barnabas_cluster.running:
            barnabas_cluster.kill(victim)
            crew.goes_on(60)
            barnabas_cluster.restart(victim)
            crew.goes_on(30)
    crew.finish()


@pytest.mark.barnabas(nodes=3, partitions=PARTITIONS, settings=SETTINGS)
def test_a_leader_that_was_frozen_delivers_nothing_that_was_accepted_meanwhile(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    crew = Crew(barnabas_cluster.bootstrap_servers, barnabas_topic)
    crew.goes_on(100)
    frozen = barnabas_cluster.leader_of(barnabas_topic, 0)
    barnabas_cluster.pause(frozen)
    wait_until(
        lambda: barnabas_cluster.partitions_of(barnabas_topic)[0].leader not in (frozen, -1),
        "no other leader",
    )
    crew.goes_on(100)
    barnabas_cluster.resume(frozen)
    crew.goes_on(100)
    crew.finish()


@pytest.mark.barnabas(partitions=PARTITIONS, settings=SETTINGS)
def test_the_only_broker_is_frozen_for_longer_than_a_lock(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    crew = Crew(barnabas_cluster.bootstrap_servers, barnabas_topic)
    crew.goes_on(50)
    barnabas_cluster.pause(1)
    time.sleep(3)
    barnabas_cluster.resume(1)
    crew.goes_on(50)
    crew.finish()
