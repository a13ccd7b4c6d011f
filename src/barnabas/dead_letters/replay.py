"""Dead letters that are sent back to their topics, each once, and those that are deleted."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.aio.producer import Producer
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.client.group.progress_groups import REPLAY_SUFFIX
from barnabas.client.producer.dead_letters import without_letter_headers
from barnabas.dead_letters.letters import LetterCluster, letter_of, matches
from barnabas.dead_letters.passed_over import PassedOver
from barnabas.records.message import Message


class Replayed(NamedTuple):
    """How far replays of a partition are, and what they have passed over before that."""

    end: int = 0
    passed_over: PassedOver = PassedOver()

    def has(self, offset: int) -> bool:
        """Whether a letter was sent back."""
        return offset < self.end and not self.passed_over.has(offset)


class Droppable(NamedTuple):
    """Up to which offsets dead letters would be deleted, and how many these are."""

    before: dict[TopicPartition, int]
    letters: int
    kept: int = 0
    """Those that replays have seen, and that stay: they follow one that was not sent back."""


def group_of(topic: str) -> str:
    """The group that records which were sent back."""
    return f"{topic}{REPLAY_SUFFIX}"


async def replay_letters(cluster: LetterCluster, topic: str, reason: str | None) -> Counter[str]:
    """Send back those that were not yet; returns how many went to which topic.

    They are sent as they were, without the headers of dead letters, in transactions with the
    offsets of the group. With a `reason`, others are passed over, and count as seen; which, is
    recorded with the offsets.
    """
    async with cluster.admin() as admin:
        await admin.describe_topic(topic)
        ends = await admin.offsets(topic, isolation="read_committed")
        starts = await admin.offsets(topic, "earliest")
    sent: Counter[str] = Counter()
    producer = cluster.producer(group_of(topic))
    consumer = cluster.consumer(topic, group_of(topic))
    async with consumer, producer:
        # Another replay can't change it any more: this producer has fenced that of any other.
        found = await replayed_up_to(cluster, topic, stable=list(ends))
        passed = {
            each: found.get(each, Replayed()).passed_over.since(start)
            for each, start in starts.items()
        }
        while True:
            messages = await consumer.poll(0.5)
            if messages:
                async with producer.transaction(consumer) as transaction:
                    skipped = await _send_back(producer, messages, reason, sent)
                    passed |= _after(messages, skipped, passed)
                    transaction.annotate({each: text.encode() for each, text in passed.items()})
            mine: list[TopicPartition] = consumer.assignment
            if mine and all(consumer.position(each) >= ends.get(each, 0) for each in mine):
                return sent


async def _send_back(
    producer: Producer, messages: Iterable[Message], reason: str | None, sent: Counter[str]
) -> set[tuple[int, int]]:
    """Partitions and offsets of those that were not sent."""
    skipped: set[tuple[int, int]] = set()
    for message in messages:
        letter = letter_of(message)
        if not letter.is_letter or not matches(reason, letter.said):
            skipped.add((message.partition, message.offset))
            continue
        headers = without_letter_headers(message.headers)
        origin = letter.said["topic"]
        await producer.send(origin, message.value, message.key, headers=headers)
        sent[origin] += 1
    return skipped


def _after(
    messages: Iterable[Message],
    skipped: set[tuple[int, int]],
    before: dict[TopicPartition, PassedOver],
) -> dict[TopicPartition, PassedOver]:
    """What is passed over when these messages are handled."""
    passed: dict[TopicPartition, PassedOver] = {}
    follows: dict[TopicPartition, bool] = {}
    for message in messages:
        where = TopicPartition(message.topic, message.partition)
        is_skipped = (message.partition, message.offset) in skipped
        if is_skipped:
            known = passed.get(where, before.get(where, PassedOver()))
            passed[where] = known.plus(message.offset, follows=follows.get(where, False))
        follows[where] = is_skipped
    return passed


async def droppable(cluster: LetterCluster, topic: str, *, replayed: bool) -> Droppable:
    """What would be deleted.

    With `replayed`, only letters that were sent back: up to the first that was passed over.
    """
    async with cluster.admin() as admin:
        await admin.describe_topic(topic)
        before = await admin.offsets(topic)
        starts = await admin.offsets(topic, "earliest")
    kept = 0
    if replayed:
        found = await replayed_up_to(cluster, topic)
        for each, end in before.items():
            one = found.get(each, Replayed())
            seen = min(end, one.end)
            first = one.passed_over.since(starts[each]).first
            before[each] = seen if first is None else min(seen, first)
            kept += max(0, seen - max(before[each], starts[each]))
    known = {each: end for each, end in before.items() if end > starts[each]}
    return Droppable(known, sum(end - starts[each] for each, end in known.items()), kept)


async def drop_letters(cluster: LetterCluster, before: dict[TopicPartition, int]) -> None:
    """Delete them for good."""
    async with cluster.admin() as admin:
        await admin.delete_records(before)


async def replayed_up_to(
    cluster: LetterCluster, topic: str, *, stable: list[TopicPartition] | None = None
) -> dict[TopicPartition, Replayed]:
    """What was sent back; with `stable`, of these partitions, after transactions have ended."""
    async with cluster.client() as client:
        found = await fetch_offsets_and_metadata(
            client, group_of(topic), stable, stable=stable is not None
        )
    return {
        each: Replayed(one.offset, PassedOver.decode(one.metadata)) for each, one in found.items()
    }
