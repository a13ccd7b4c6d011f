"""Clients that write and read while a cluster is being hurt, and keep a journal of what they saw.

Producers with `acks=all`, idempotent and not, send unique values to every partition in turn. A
group of consumers reads them all and commits as it goes; a lone consumer does so without a group.
All of them are librdkafka's. At the end a fresh reader reads everything once more, and the checker
compares.
"""

import itertools
import logging
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Self

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from tests.cluster.checker import Violation, check
from tests.cluster.history import Acked, Failed, History, ProducerMode, Sent, Stored
from tests.cluster.readers import GROUP, Lone, Member, place_and_value, see_committed
from tests.support.wait import LIMIT_S

DEFAULTS: Mapping[str, Any] = {}
"""Clients as they come."""

IMPATIENT: Mapping[str, Any] = {
    # By default librdkafka 2.16 forgets all nodes when it can reach none for a moment, and those of
    # its partitions whose position was being validated then are at times never read again.
    "metadata.recovery.strategy": "none",
    "socket.timeout.ms": 4_000,
    "reconnect.backoff.max.ms": 1_000,
    "session.timeout.ms": 6_000,
}
"""For silent faults: by default a client waits a minute for an answer."""

_MAX_OUTSTANDING = 300
_PAD = " " * 100
_now = time.monotonic
_RESENT = re.compile(r"\[(\d+)\]: MessageSet with (\d+) message.* encountered error: ")


class _Resent(logging.Handler):
    """Counts what librdkafka sends again: only its log tells.

    Even what a deposed leader has refused may be stored, as its followers may have it already.
    """

    def __init__(self, mode: ProducerMode) -> None:
        super().__init__()
        self._mode = mode

    def emit(self, record: logging.LogRecord) -> None:
        found = _RESENT.search(record.getMessage())
        if found is not None:
            self._mode.resent[int(found[1])] += int(found[2])


def _logger(mode: ProducerMode) -> logging.Logger:
    logger = logging.Logger("librdkafka")  # noqa: LOG001 - one for each producer, with no parent
    logger.addHandler(_Resent(mode))
    return logger


class Workload:
    """A context manager: clients run inside of it; `finish` ends them and judges."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        *,
        clients: Mapping[str, Any] = IMPATIENT,
        records_per_s: float = 60,
        members: int = 2,
        idempotent: int = 1,
        plain: int = 1,
    ) -> None:
        self.history = History()
        self._common = {"bootstrap.servers": bootstrap, "log_level": 2, **clients}
        self._topic = topic
        self._partitions = range(partitions)
        self._rate = records_per_s
        self._producing = threading.Event()
        self._consuming = threading.Event()
        self._producers = [
            self._thread(self._produce, f"exact{i}", True) for i in range(idempotent)
        ]
        self._producers += [self._thread(self._produce, f"plain{i}", False) for i in range(plain)]
        names = [f"member{i}" for i in range(members)]
        self._consumers = [self._thread(self._join, name) for name in names]
        self._consumers.append(self._thread(self._follow, "lone"))
        self.history.groups[GROUP] = names

    def _thread(self, run: Callable[..., None], name: str, *arguments: object) -> threading.Thread:
        return threading.Thread(target=run, args=(name, *arguments), name=name, daemon=True)

    def __enter__(self) -> Self:
        self._producing.set()
        self._consuming.set()
        for thread in (*self._producers, *self._consumers):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._producing.clear()
        self._consuming.clear()
        for thread in (*self._producers, *self._consumers):
            thread.join(LIMIT_S)

    # -- producers -------------------------------------------------------------------------------

    def _produce(self, name: str, idempotent: bool) -> None:
        history = self.history
        mode = history.producers[name] = ProducerMode(idempotent)
        sent_at: dict[str, float] = {}

        def delivered(error: KafkaError | None, message: Message) -> None:
            value = (message.value() or b"").decode().strip()
            at = _now()
            if error is not None:
                history.failed.append(Failed(value, str(error), at))
                return
            offset = message.offset()
            known = offset if offset is not None and offset >= 0 else None
            history.acked.append(
                Acked(value, message.partition() or 0, known, sent_at.pop(value), at)
            )

        def complained(error: KafkaError) -> None:
            if error.fatal():
                history.client_errors.append(f"{name}: {error}")

        producer = Producer(
            {
                **self._common,
                "acks": "all",
                "enable.idempotence": idempotent,
                "debug": "msg",
                "log_level": 7,
                "error_cb": complained,
                "on_delivery": delivered,
            },
            logger=_logger(mode),
        )
        began = _now()
        for number in itertools.count():
            while _now() < began + number / self._rate or len(producer) > _MAX_OUTSTANDING:
                producer.poll(0.005)
                if not self._producing.is_set():
                    break
            if not self._producing.is_set():
                break
            value = f"{name}/{number}"
            partition = number % len(self._partitions)
            sent_at[value] = _now()
            history.sent.append(Sent(name, value, partition, sent_at[value]))
            producer.produce(self._topic, value + _PAD, partition=partition)
            producer.poll(0)
        producer.flush(LIMIT_S)

    # -- consumers -------------------------------------------------------------------------------

    def _join(self, name: str) -> None:
        Member(name, self._topic, self._consumer(GROUP), self.history).run(self._consuming)

    def _follow(self, name: str) -> None:
        lone = Lone(name, self._topic, self._consumer("unknown"), self.history)
        lone.run(self._partitions, self._consuming)

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )

    # -- progress --------------------------------------------------------------------------------

    def acked_since(self, at: float) -> list[Acked]:
        """What was acknowledged of all that was sent since then."""
        return [acked for acked in self.history.acked[-5_000:] if acked.sent_at >= at]

    def wait_for_progress(self, timeout_s: float = LIMIT_S) -> None:
        """Until each partition has acknowledged what was sent, and both readers read, after now."""
        since = _now()
        wanted = set(self._partitions)
        deadline = since + timeout_s
        while True:
            recent = self.acked_since(since)
            fresh = {acked.value for acked in recent}
            names = {assigned.number: assigned.consumer for assigned in self.history.assigned}
            read = [polled for polled in self.history.polled[-5_000:] if polled.value in fresh]
            lone = {p.partition for p in read if names[p.assignment] == "lone"}
            group = {p.partition for p in read if names[p.assignment] != "lone"}
            if {acked.partition for acked in recent} == lone == group == wanted:
                return
            assert _now() < deadline, (
                f"no progress in {timeout_s} s: of partitions {sorted(wanted)} acknowledged "
                f"{sorted({a.partition for a in recent})}, read by the lone consumer "
                f"{sorted(lone)}, by the group {sorted(group)}; errors {self.history.client_errors}"
            )
            time.sleep(0.05)

    def longest_silence_s(self) -> float:
        """The longest time that any partition went without an acknowledgement."""
        times: dict[int, list[float]] = defaultdict(list)
        for acked in self.history.acked:
            times[acked.partition].append(acked.at)
        gaps = [b - a for seen in times.values() for a, b in itertools.pairwise(seen)]
        return max(gaps, default=0.0)

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, timeout_s: float = LIMIT_S, drain_s: float | None = None) -> list[Violation]:
        """Stop writing, let readers read to the end, read all once more, judge.

        Where records must be lost, readers never come to the end: drain_s is how long they try.
        """
        self._producing.clear()
        for thread in self._producers:
            thread.join(timeout_s)
            assert not thread.is_alive(), f"{thread.name} does not end"
        ends = self._read_all(timeout_s)
        self._drain(ends, timeout_s if drain_s is None else drain_s)
        self._consuming.clear()
        for thread in self._consumers:
            thread.join(timeout_s)
            assert not thread.is_alive(), f"{thread.name} does not end"
        consumer = self._consumer(GROUP)
        partitions = [TopicPartition(self._topic, p) for p in self._partitions]
        see_committed(consumer, partitions, self.history)
        consumer.close()
        return check(self.history)

    def _read_all(self, timeout_s: float) -> dict[int, int]:
        """Read what is stored, in each partition to its end; the ends."""
        consumer = self._consumer("final")
        ends: dict[int, int] = {}
        deadline = _now() + timeout_s
        for p in self._partitions:
            while p not in ends:
                try:
                    _, ends[p] = consumer.get_watermark_offsets(TopicPartition(self._topic, p), 5)
                except KafkaException:
                    assert _now() < deadline, f"partition {p} does not tell its end"
        left = {p for p, end in ends.items() if end > 0}
        consumer.assign([TopicPartition(self._topic, p, 0) for p in left])
        while left:
            assert _now() < deadline, f"partitions {left} can't be read to their ends {ends}"
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, f"the final reader: {message.error()}"
            partition, offset, value = place_and_value(message)
            if partition in left and offset < ends[partition]:
                self.history.stored.append(Stored(partition, offset, value))
            if offset >= ends[partition] - 1:
                left.discard(partition)
        consumer.close()
        return ends

    def _drain(self, ends: Mapping[int, int], timeout_s: float) -> None:
        """Wait until readers have come to the ends. If they don't, the checker says what lacks."""
        lasts = {(p, end - 1) for p, end in ends.items() if end > 0}
        deadline = _now() + timeout_s
        while _now() < deadline:
            names = {assigned.number: assigned.consumer for assigned in self.history.assigned}
            at_end = [p for p in list(self.history.polled) if (p.partition, p.offset) in lasts]
            lone = {p.partition for p in at_end if names[p.assignment] == "lone"}
            group = {p.partition for p in at_end if names[p.assignment] != "lone"}
            if len(lone) == len(group) == len(lasts):
                return
            time.sleep(0.1)

    def summary(self) -> str:
        history = self.history
        resent = sum(mode.resent.total() for mode in history.producers.values())
        return (
            f"{len(history.sent)} sent, {len(history.acked)} acknowledged, "
            f"{len(history.failed)} failed, {resent} sent again, "
            f"{len(history.stored)} stored, {len(history.polled)} polled, "
            f"{len(history.committed)} commits, {len(history.assigned)} assignments, "
            f"longest silence {self.longest_silence_s():.2f} s"
        )
