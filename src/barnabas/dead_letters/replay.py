"""Dead letters that are sent back to their topics, each once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.dead_letters import without_letter_headers
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.transaction import ProducerTransaction
from barnabas.dead_letters.letters import LetterCluster, letter_of, matches
from barnabas.dead_letters.passed_over import Range, Seen
from barnabas.dead_letters.progress import Replayed, group_of, replayed_up_to
from barnabas.records.message import Message

_POLL_S = 0.5


class ReplayResult(NamedTuple):
    """What one replay has done, and what it has left."""

    sent: Counter[str]
    """How many went to which topic."""
    left: int = 0
    """Letters that were not sent back, by this replay or an earlier one: not of their reason."""
    uncertain: tuple[tuple[TopicPartition, Range], ...] = ()
    """Offsets whose letters may have been sent back before: they are left out."""


async def replay_letters(cluster: LetterCluster, topic: str, reason: str | None) -> ReplayResult:
    """Send back those that were not yet: first those that were passed over, then the new ones.

    They are sent as they were, without the headers of dead letters, in transactions with the
    offsets of the group. With a `reason`, others are passed over; which, is recorded with the
    offsets.
    """
    async with cluster.admin() as admin:
        await admin.describe_topic(topic)
        ends = await admin.offsets(topic, isolation="read_committed")
        starts = await admin.offsets(topic, "earliest")
    async with cluster.client() as client:
        producer = RecordProducer(client, transactional_id=group_of(topic))
        async with producer:
            # Another replay can't change it any more: this producer has fenced that of any other.
            found = await replayed_up_to(cluster, topic, stable=list(ends))
            run = _ReplayRun(cluster, producer, topic, reason, found, starts)
            await run.send_passed_over()
            await run.send_new(ends)
    return run.result()


class _ReplayRun:
    """One replay. `_progress` is what its last transaction has committed."""

    def __init__(
        self,
        cluster: LetterCluster,
        producer: RecordProducer,
        topic: str,
        reason: str | None,
        found: Mapping[TopicPartition, Replayed],
        starts: Mapping[TopicPartition, int],
    ) -> None:
        self._cluster = cluster
        self._producer = producer
        self._group = group_of(topic)
        self._reason = reason
        self._progress = {
            each: _since(start, found.get(each, Replayed(start))) for each, start in starts.items()
        }
        self._sent: Counter[str] = Counter()
        self._left = 0

    def result(self) -> ReplayResult:
        uncertain = tuple(
            (where, offsets)
            for where, each in sorted(self._progress.items())
            for offsets in each.passed_over.inexact
        )
        return ReplayResult(self._sent, self._left, uncertain)

    async def send_passed_over(self) -> None:
        """Read exact ranges once more, and take those that are sent now out of them."""
        known = {each: one.passed_over for each, one in self._progress.items()}
        read_to = {each: one.ranges[0][0] for each, one in known.items() if one.ranges}
        ends = {each: known[each].ranges[-1][1] + 1 for each in read_to}
        if not ends:
            return
        async with self._cluster.consumer() as consumer:
            await consumer.assign(read_to)
            while any(read_to[each] < end for each, end in ends.items()):
                messages = [
                    each
                    for each in await consumer.poll(_POLL_S)
                    if known[_partition_of(each)].is_known(each.offset)
                ]
                positions = {each: min(consumer.position(each), end) for each, end in ends.items()}
                async with self._producer.transaction() as transaction:
                    seen = await self._send_back(messages)
                    progress = {
                        where: self._rest(where, read_to[where], position, seen.get(where, []))
                        for where, position in positions.items()
                    }
                    await self._commit(transaction, progress)
                read_to |= positions

    def _rest(self, where: TopicPartition, begin: int, end: int, seen: Iterable[Seen]) -> Replayed:
        one = self._progress[where]
        return one._replace(passed_over=one.passed_over.again(begin, end, seen))

    async def send_new(self, ends: Mapping[TopicPartition, int]) -> None:
        """Send those that came since the last replay, up to these offsets."""
        begins = {
            each: one.end for each, one in self._progress.items() if one.end < ends.get(each, 0)
        }
        if not begins:
            return
        async with self._cluster.consumer() as consumer:
            await consumer.assign(begins)
            while any(consumer.position(each) < ends[each] for each in begins):
                messages = await consumer.poll(_POLL_S)
                if not messages:
                    continue
                async with self._producer.transaction() as transaction:
                    progress = {
                        where: Replayed(
                            consumer.position(where),
                            self._progress[where].passed_over.after(seen),
                        )
                        for where, seen in (await self._send_back(messages)).items()
                    }
                    await self._commit(transaction, progress)

    async def _send_back(self, messages: Iterable[Message]) -> dict[TopicPartition, list[Seen]]:
        """Send those that match; which were passed over, by partition."""
        seen: defaultdict[TopicPartition, list[Seen]] = defaultdict(list)
        for message in messages:
            letter = letter_of(message)
            is_sent = letter.is_letter and matches(self._reason, letter.said)
            seen[_partition_of(message)].append((message.offset, not is_sent))
            if is_sent:
                origin = letter.said["topic"]
                headers = without_letter_headers(message.headers)
                await self._producer.send(origin, message.value, key=message.key, headers=headers)
                self._sent[origin] += 1
            else:
                self._left += letter.is_letter
        return seen

    async def _commit(
        self, transaction: ProducerTransaction, progress: dict[TopicPartition, Replayed]
    ) -> None:
        """Add to the transaction what has changed."""
        changed = {each: one for each, one in progress.items() if one != self._progress[each]}
        await transaction.send_offsets(
            self._group,
            {each: one.end for each, one in changed.items()},
            metadata={each: one.passed_over.encode() for each, one in changed.items()},
        )
        self._progress |= changed


def _partition_of(message: Message) -> TopicPartition:
    return TopicPartition(message.topic, message.partition)


def _since(start: int, replayed: Replayed) -> Replayed:
    """Without letters that are deleted."""
    return Replayed(max(replayed.end, start), replayed.passed_over.since(start))
