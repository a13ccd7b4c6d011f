"""Ranges of logs as tables: exactly their records, whatever the batches and whatever is missing."""

import asyncio
import secrets
from collections.abc import Iterator
from random import Random

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from barnabas.client.consumer import range_reader, range_tables
from barnabas.client.consumer.range_reader import FetchedRange, RecordRange
from barnabas.client.consumer.range_tables import RangeTables
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import CorruptRecords, DataLost, UnknownTopic
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import PartitionData

PLACE = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> Iterator[str]:
    """Three partitions; every record's value is its partition and offset. With aborted ones."""
    name = f"ranges-{secrets.token_hex(4)}"
    random = Random(7)
    with (
        barnabas.Admin(bootstrap) as admin,
        barnabas.Producer(bootstrap, transactional_id=name, compression="lz4") as producer,
    ):
        admin.create_topic(name, partitions=3)
        for _ in range(25):
            try:
                with producer.transaction():
                    for _ in range(random.randrange(1, 40)):
                        producer.send(name, b"kept", partition=random.randrange(3))
                    if random.random() < 0.3:
                        producer.flush()
                        raise LookupError
            except LookupError:
                pass
        yield name


async def rows_of(
    bootstrap: str, ranges: list[RecordRange], isolation: IsolationLevel
) -> list[tuple[str, int, int]]:
    rows = []
    async with ClusterClient(bootstrap) as cluster:
        state = RangeTables(cluster, ranges, ["topic", "partition", "offset"], isolation=isolation)
        while fetched := await state.fetch():
            for table in state.tables(fetched):
                rows += table.to_pylist()
        for table in state.rest():
            rows += table.to_pylist()
    return [(row["topic"], row["partition"], row["offset"]) for row in rows]


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_any_ranges_hold_just_what_a_consumer_reads_there(
    bootstrap: str, topic: str, isolation: IsolationLevel
) -> None:
    random = Random(11)
    with barnabas.Admin(bootstrap) as admin:
        ends = admin.offsets(topic)
    whole = [RecordRange(each, 0, end) for each, end in ends.items()]
    everything = asyncio.run(rows_of(bootstrap, whole, isolation))
    assert sorted(everything) == _consumed(bootstrap, topic, isolation)
    for _ in range(5):
        ranges = [
            RecordRange(each, *sorted((random.randint(0, end), random.randint(0, end))))
            for each, end in ends.items()
        ]
        bounds = {each.partition: range(each.start, each.end) for each in ranges}
        expected = [row for row in everything if row[2] in bounds[TopicPartition(*row[:2])]]
        assert sorted(asyncio.run(rows_of(bootstrap, ranges, isolation))) == sorted(expected)


def _consumed(bootstrap: str, topic: str, isolation: IsolationLevel) -> list[tuple[str, int, int]]:
    rows = []
    with barnabas.Consumer(bootstrap, topic, isolation=isolation.name.lower()) as consumer:
        while messages := consumer.poll(1.0):
            rows += [(each.topic, each.partition, each.offset) for each in messages]
    return sorted(rows)


# -- batches that need no broker ------------------------------------------------------------------


def batch_of(offsets: list[int], timestamp_ms: int = 0) -> bytes:
    rows = [(timestamp_ms, None, b"%d" % offset, ()) for offset in offsets]
    return bytes(encode_batch(rows, base_offset=offsets[0]))


def reading_of(start: int, end: int, **options: int) -> RangeTables:
    cluster = ClusterClient("nowhere:1")
    return RangeTables(cluster, [RecordRange(PLACE, start, end)], ["value"], **options)


def decoded(state: RangeTables, fetched: FetchedRange) -> list[int]:
    tables = [*state.tables([fetched]), *state.rest()]
    return [int(value) for table in tables for value in table.column("value").to_pylist()]


def test_batches_are_cut_at_both_ends_also_where_offsets_are_not_asked_for() -> None:
    data = batch_of([0, 1, 2, 3]) + batch_of([4, 5, 6]) + batch_of([7, 8, 9])
    fetched = FetchedRange(RecordRange(PLACE, 2, 6), 2, data, ())
    assert decoded(reading_of(2, 6), fetched) == [2, 3, 4, 5]


def test_batches_that_are_older_as_a_whole_are_not_even_opened() -> None:
    damaged = bytearray(batch_of([0, 1], timestamp_ms=5))
    damaged[-1] ^= 0xFF
    fetched = FetchedRange(RecordRange(PLACE, 0, 4), 0, bytes(damaged) + batch_of([2, 3], 9), ())
    assert decoded(reading_of(0, 4, min_timestamp_ms=6), fetched) == [2, 3]
    with pytest.raises(CorruptRecords, match="t-0"):
        decoded(reading_of(0, 4), fetched)


def test_tables_do_not_grow_beyond_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_tables, "TABLE_ROWS", 3)
    data = b"".join(batch_of([n, n + 1]) for n in range(0, 10, 2))
    tables = list(reading_of(0, 9).tables([FetchedRange(RecordRange(PLACE, 0, 9), 0, data, ())]))
    assert [table.num_rows for table in tables] == [4, 4, 1]


class Answers:
    """Stands for a broker that answers fetches, one after the other."""

    def __init__(self, *answers: PartitionData) -> None:
        self._answers = list(answers)

    async def __call__(self, *_: object) -> list[tuple[TopicPartition, PartitionData]]:
        return [(PLACE, self._answers.pop(0))]


def test_nothing_left_by_compaction_is_the_end_and_nothing_yet_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def leaders(_: object) -> dict[int, list[TopicPartition]]:
        return {1: [PLACE]}

    state = reading_of(5, 9)
    monkeypatch.setattr(state._cluster, "by_leader", leaders)
    answers = Answers(
        PartitionData(
            high_watermark=7, last_stable_offset=7
        ),  # a follower that has just taken over
        PartitionData(high_watermark=9, last_stable_offset=8),  # a transaction that is being ended
        PartitionData(high_watermark=9, last_stable_offset=9),
    )
    monkeypatch.setattr(range_reader, "fetch", answers)
    assert asyncio.run(state.fetch()) == []
    assert not answers._answers


def test_a_log_that_stays_too_short_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async def leaders(_: object) -> dict[int, list[TopicPartition]]:
        return {1: [PLACE]}

    monkeypatch.setattr(range_reader, "fetch", Answers(PartitionData(high_watermark=7)))
    state = reading_of(5, 9)
    state._patience_s = -1.0
    monkeypatch.setattr(state._cluster, "by_leader", leaders)
    with pytest.raises(DataLost, match="ends at offset 7 and was to be read up to 9"):
        asyncio.run(state.fetch())


def test_brokers_that_contradict_each_other_are_not_asked_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of them tell of the topic, and the leader knows nothing of it."""

    async def leaders(_: object) -> dict[int, list[TopicPartition]]:
        return {1: [PLACE]}

    async def refresh_leaders(_: object) -> None: ...

    topic = TopicMetadata("t", 0, False, [PartitionMetadata(0, 1, 0, [1], [1], [])], b"1" * 16)
    unknown = PartitionData(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    monkeypatch.setattr(range_reader, "fetch", Answers(unknown))
    state = reading_of(5, 9)
    state._patience_s = -1.0
    monkeypatch.setattr(state._cluster, "by_leader", leaders)
    monkeypatch.setattr(state._cluster, "refresh_leaders", refresh_leaders)
    monkeypatch.setattr(state._cluster, "known_topic", lambda _: topic)
    monkeypatch.setattr(state._cluster, "retry_timeout_ms", 0)
    with pytest.raises(UnknownTopic, match="t-0"):
        asyncio.run(state.fetch())
