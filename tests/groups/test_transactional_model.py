"""Transactions of several producers, plain commits, deletions, against a dumb reading of the log.

The oracle reads the log as Kafka's brokers do: every value remembers where it stood, and at the
end of a transaction what stands later wins. The shard must show the same after every step, also
from a log that a compaction has been at, because compaction must not change what is committed.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.groups.offsets.group_offsets import unstable_offsets
from barnabas.groups.offsets.transactional_offsets import TransactionEnd
from barnabas.groups.records import decode_key, decode_offset
from barnabas.wire.messages.group_records import OffsetCommitKey
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.groups.shell import GROUP, Entry, Marker, Shell, TransactionalRecord
from tests.support.tier import examples

TOPICS = ["t", "u"]
PARTITIONS = [0]

Key = tuple[str, int]
Placed = tuple[int, int]
"""Where it stands in the log, and the offset that was committed."""

producers = st.integers(1, 3)
topics = st.sampled_from(TOPICS)
partitions = st.sampled_from(PARTITIONS)
offsets = st.integers(0, 99)


@dataclass
class Reading:
    """What the log says."""

    committed: dict[Key, Placed] = field(default_factory=dict)
    open: dict[int, dict[Key, Placed]] = field(default_factory=dict)

    def unstable(self) -> set[Key]:
        return {
            key
            for placed in self.open.values()
            for key, (place, _) in placed.items()
            if place > self.committed.get(key, (-1, -1))[0]
        }


def read(log: list[tuple[int, Entry]]) -> Reading:
    reading = Reading()
    for place, entry in log:
        if isinstance(entry, Marker):
            ended = reading.open.pop(entry.producer_id, {})
            for key, placed in ended.items():
                if entry.is_commit and placed > reading.committed.get(key, (-1, -1)):
                    reading.committed[key] = placed
            continue
        decoded = decode_key(entry.key)
        if not isinstance(decoded, OffsetCommitKey):
            continue
        key = (decoded.topic, decoded.partition)
        if entry.value is None:
            reading.committed.pop(key, None)
            for placed_by_key in reading.open.values():
                placed_by_key.pop(key, None)
            continue
        placed = (place, decode_offset(entry.value).offset)
        if isinstance(entry, TransactionalRecord):
            reading.open.setdefault(entry.producer_id, {})[key] = placed
        else:
            reading.committed[key] = placed
    return reading


def compacted(log: list[Entry]) -> list[Entry]:
    """Before the first transaction that goes on: without what was aborted, the last of each key."""
    outcome: dict[int, bool] = {}
    fate: list[bool | None] = []
    for entry in reversed(log):
        if isinstance(entry, Marker):
            outcome[entry.producer_id] = entry.is_commit
        is_part = isinstance(entry, TransactionalRecord)
        fate.append(outcome.get(entry.producer_id) if is_part else True)  # type: ignore[union-attr]
    fate.reverse()
    stable = next((place for place, each in enumerate(fate) if each is None), len(log))
    last = {
        entry.key: place
        for place, entry in enumerate(log[:stable])
        if not isinstance(entry, Marker) and fate[place]
    }
    return [
        entry
        for place, entry in enumerate(log)
        if place >= stable or isinstance(entry, Marker) or last.get(entry.key) == place
    ]


class TransactionMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.shell = Shell()
        self.shell.persists_at_once = False

    @rule(producer_id=producers, topic=topics, partition=partitions, offset=offsets)
    def txn_commit(self, producer_id: int, topic: str, partition: int, offset: int) -> None:
        self.shell.txn_commit(offset, producer_id=producer_id, topic=topic, partition=partition)

    @rule(topic=topics, partition=partitions, offset=offsets)
    def commit(self, topic: str, partition: int, offset: int) -> None:
        self.shell.commit(offset, topic=topic, partition=partition)

    @rule(producer_id=producers, is_commit=st.booleans())
    def end(self, producer_id: int, is_commit: bool) -> None:
        self.shell.end_transaction(producer_id, is_commit=is_commit)

    @rule(topic=topics, partition=partitions)
    def delete_offset(self, topic: str, partition: int) -> None:
        asked = OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(partition)])
        request = OffsetDeleteRequest(GROUP, [asked])
        self.shell.carry_out(
            self.shell.shard.offset_delete(
                request, token=self.shell.token(), now_ms=self.shell.now_ms
            )
        )

    @rule(topic=topics)
    def delete_topic(self, topic: str) -> None:
        self.shell.carry_out(self.shell.shard.topics_deleted([topic]))

    @rule()
    def delete_group(self) -> None:
        self.shell.carry_out(self.shell.shard.delete_groups([GROUP], token=self.shell.token()))

    @rule(days=st.integers(1, 8))
    def wait(self, days: int) -> None:
        """Some of it may expire."""
        self.shell.advance(days * 24 * 3_600_000)

    @precondition(lambda self: self.shell.in_flight)
    @rule(count=st.integers(1, 5))
    def persist(self, count: int) -> None:
        for _ in range(min(count, len(self.shell.in_flight))):
            self.shell.persist_next()

    @precondition(
        lambda self: (
            self.shell.in_flight and not isinstance(self.shell.in_flight[0], TransactionEnd)
        )
    )
    @rule()
    def fail(self) -> None:
        self.shell.fail_next()

    @rule(compacts=st.booleans())
    def restart(self, compacts: bool) -> None:
        log = compacted(self.shell.log) if compacts else self.shell.log
        self.shell = self.shell.successor(log)
        self.shell.persists_at_once = False

    @invariant()
    def what_shows_is_what_the_log_says(self) -> None:
        log = self.shell.log
        reading = read(list(enumerate(log)))
        under_way = {
            (key.topic, key.partition)
            for decision in self.shell.in_flight
            if decision.producer is not None
            for key in (decode_key(record.key) for record in decision.records)
            if isinstance(key, OffsetCommitKey)
        }
        successors = (self.shell.restart(), self.shell.successor(compacted(log)))
        for key in ((topic, partition) for topic in TOPICS for partition in PARTITIONS):
            _, offset = reading.committed.get(key, (-1, -1))
            is_stable = key not in reading.unstable()
            assert self.shell.committed(*key) == offset
            assert self.shell.is_stable(*key) == (is_stable and key not in under_way)
            for successor in successors:
                assert successor.committed(*key) == offset
                assert successor.is_stable(*key) == is_stable

    def teardown(self) -> None:
        """When all transactions are over nothing is unstable, and every request is answered."""
        if not hasattr(self, "shell"):
            return
        for producer_id in range(1, 4):
            self.shell.end_transaction(producer_id)
        while self.shell.in_flight:
            self.shell.persist_next()
        assert self.shell.asked == self.shell.answers.keys()
        for group in self.shell.shard._groups:
            assert not unstable_offsets(group)
            assert not group.image.offsets.in_transactions._partitions_of
        self.what_shows_is_what_the_log_says()
        self.shell.advance(30 * 24 * 3_600_000)
        while self.shell.in_flight:
            self.shell.persist_next()
            self.shell.advance(24 * 3_600_000)
        assert self.shell.shard.list_groups() == []


TransactionMachine.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40)
TestTransactions = TransactionMachine.TestCase
