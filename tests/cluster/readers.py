"""Consumers that write down what they read: one of a group, and one by itself."""

import threading
import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.cluster.history import Committed, History, Polled, SawCommitted

GROUP = "readers"
_COMMIT_EVERY_S = 0.3
_now = time.monotonic


def place_and_value(message: Message) -> tuple[int, int, str]:
    """Partition, offset, value."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset, (message.value() or b"").decode().strip()


class Reader:
    """Reads the partitions that it is assigned."""

    def __init__(self, name: str, topic: str, consumer: Consumer, history: History) -> None:
        self._name = name
        self._topic = topic
        self._consumer = consumer
        self._history = history
        self._assignments: dict[int, int] = {}

    def _assign(self, positions: Iterable[TopicPartition]) -> None:
        assigned = list(positions)
        for tp in assigned:
            self._assignments[tp.partition] = self._history.assign(
                self._name, tp.partition, tp.offset
            )
        self._consumer.assign(assigned)

    def _poll(self) -> Polled | None:
        message = self._consumer.poll(0.1)
        if message is None:
            return None
        if message.error() is not None:
            self._history.client_errors.append(f"{self._name}: {message.error()}")
            return None
        partition, offset, value = place_and_value(message)
        polled = Polled(self._assignments[partition], partition, offset, value, _now())
        self._history.polled.append(polled)
        return polled


class Lone(Reader):
    """Reads all partitions from their start, without a group."""

    def run(self, partitions: Iterable[int], going_on: threading.Event) -> None:
        self._assign(TopicPartition(self._topic, p, 0) for p in partitions)
        while going_on.is_set():
            self._poll()
        self._consumer.close()


class Member(Reader):
    """Reads what the group gives it, commits as it goes, and starts from what is committed."""

    def run(self, going_on: threading.Event) -> None:
        self._read: dict[int, int] = {}
        self._going_on = going_on
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        next_commit = _now()
        while going_on.is_set():
            polled = self._poll()
            if polled is not None:
                self._read[polled.partition] = polled.offset + 1
            if _now() >= next_commit:
                self._commit()
                next_commit = _now() + _COMMIT_EVERY_S
        self._commit()
        self._consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        while self._going_on.is_set():
            seen = see_committed(consumer, partitions, self._history)
            if seen is not None:
                self._assign(seen)
                return

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        self._on_lost(consumer, partitions)

    def _on_lost(self, consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._read.clear()
        self._assignments.clear()
        consumer.unassign()

    def _commit(self) -> None:
        if not self._read:
            return
        offsets = [TopicPartition(self._topic, p, offset) for p, offset in self._read.items()]
        began = _now()
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # another time, or another member
        for tp in done or ():
            if tp.error is None:
                self._read.pop(tp.partition, None)
                self._history.committed.append(
                    Committed(GROUP, tp.partition, tp.offset, began, _now())
                )


def see_committed(
    consumer: Consumer, partitions: list[TopicPartition], history: History
) -> list[TopicPartition] | None:
    """Ask for the group's committed offsets; None if there is no answer."""
    began = _now()
    try:
        found = consumer.committed(partitions, timeout=5)
    except KafkaException:
        return None
    if any(tp.error is not None for tp in found):
        return None
    for tp in found:
        tp.offset = max(0, tp.offset)
        history.saw_committed.append(SawCommitted(GROUP, tp.partition, tp.offset, began))
    return found
