"""Dead letters without Spark: whatever dies, and wherever, each is there once."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.cluster.connection import connect
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.dead_letters import letter_writer
from barnabas.spark.dead_letters.dead_record import DeadRecord
from barnabas.spark.dead_letters.letter_progress import LateTask, LetterProgress, LetterTask
from barnabas.spark.dead_letters.letter_writer import LetterTopic, LetterWriter, count_letters
from tests.spark.fate import Fate, Killed, World
from tests.support.broker import BrokerProcess

_names = count()
WHEN = datetime(2026, 1, 1, 0, 0, 10, 123456, tzinfo=UTC)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.state.log.num.partitions": "2"}
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        yield broker


class Job:
    """A query that reads a topic of two partitions, and what stands for Spark."""

    def __init__(self, node: BrokerProcess) -> None:
        number = next(_names)
        self.bootstrap = node.bootstrap
        self.query_id = str(uuid4())
        self.source, self.topic = f"in-{number}", f"dead-{number}"
        self.group = f"job-{number}.dead-letters"
        with barnabas.Admin(node.bootstrap) as admin:
            admin.create_topic(self.source, partitions=2)
            admin.create_topic(self.topic, partitions=2)

    def target(self, process: str) -> LetterTopic:
        return LetterTopic(
            ConnectionOptions(self.bootstrap, process, 30_000), self.topic, self.group
        )

    def records(self, partition: int, *offsets: int) -> list[DeadRecord]:
        where = TopicPartition(self.source, partition)
        return [
            DeadRecord(
                where, each, WHEN, None, f"{partition}@{each}".encode(), [("h", b"1")], "bad"
            )
            for each in offsets
        ]

    def task(
        self, process: str, batch: int, *records: DeadRecord, definition: str = "", **other: Any
    ) -> None:
        task = LetterTask(other.get("query_id", self.query_id), batch, definition)
        writer = LetterWriter(self.target(process), task)
        writer.take(records)
        writer.flush()

    def batch(self, process: str, batch: int) -> None:
        """Two tasks: one has partition 0 and the beginning of 1, the other the rest of it."""
        first = 100 * batch
        self.task(process, batch, *self.records(0, first, first + 7), *self.records(1, first + 3))
        self.task(process, batch, *self.records(1, first + 60, first + 61))

    def check(self, *batches: int, also: tuple[str, ...] = ()) -> None:
        expected = [
            f"{partition}@{100 * batch + offset}"
            for batch in batches
            for partition, offset in ((0, 0), (0, 7), (1, 3), (1, 60), (1, 61))
        ]
        assert sorted(self.values()) == sorted([*expected, *also])

    def values(self) -> list[str]:
        return [each.value.decode() for each in self.letters()]

    def letters(self) -> list[barnabas.Message[bytes, bytes]]:
        with barnabas.Admin(self.bootstrap) as admin:
            ends = admin.offsets(self.topic, "latest")
        wanted = sum(ends.values())
        found: list[Any] = []
        with barnabas.Consumer(self.bootstrap, self.topic, start="earliest") as consumer:
            while wanted and not self._has_read(consumer, ends):
                found += consumer.poll(timeout_s=0.2)
        return found

    @staticmethod
    def _has_read(consumer: Any, ends: Any) -> bool:
        mine = consumer.assignment
        return bool(mine) and all(consumer.position(each) >= ends.get(each, 0) for each in mine)

    def count(self) -> int:
        return connect(self.target("checker").connection).ask(
            lambda cluster: count_letters(cluster, [self.group], self.query_id)
        )


def test_batches_one_after_the_other(node: BrokerProcess) -> None:
    job = Job(node)
    for batch in range(3):
        job.batch("p", batch)
    job.batch("p", 2)
    job.check(0, 1, 2)
    assert job.count() == 15
    letter = next(each for each in job.letters() if each.value == b"1@103")
    assert dict(letter.headers) == {
        "h": b"1",
        "dead-letter.topic": job.source.encode(),
        "dead-letter.partition": b"1",
        "dead-letter.offset": b"103",
        "dead-letter.timestamp": b"2026-01-01T00:00:10.123Z",
        "dead-letter.reason": b"bad",
    }


def test_many_are_written_in_parts(node: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter_writer, "_MAX_RECORDS", 3)
    job = Job(node)
    for _ in range(2):
        job.task("p", 0, *job.records(0, *range(0, 100, 10)), *job.records(1, 4))
    assert sorted(job.values()) == sorted([*(f"0@{each}" for each in range(0, 100, 10)), "1@4"])
    assert job.count() == 11
    committed = connect(job.target("p").connection).ask(
        lambda cluster: fetch_offsets_and_metadata(cluster, job.group)
    )
    of_0 = committed[TopicPartition(job.source, 0)]
    assert (of_0.offset, LetterProgress.decode(of_0.metadata).done) == (91, ((0, 91),))


def test_a_task_without_any_costs_nothing(node: BrokerProcess, world: World) -> None:
    world.fates["silent"] = Fate(1)
    Job(node).task("silent", 0)
    assert world.fates["silent"].sent == 0


@pytest.mark.parametrize(
    "sends_it",
    [
        pytest.param(False, id="before", marks=pytest.mark.long),
        pytest.param(True, id="after"),
    ],
)
def test_a_process_dies_anywhere(node: BrokerProcess, world: World, sends_it: bool) -> None:
    """The batch is repeated by another, as after the death of a task, a worker or the driver."""
    for requests in count(1):
        job = Job(node)
        job.batch("p", 0)
        fate = world.fates[f"dies-{requests}"] = Fate(requests, sends_it)
        with suppress(Killed, BarnabasError):
            job.batch(f"dies-{requests}", 1)
        job.batch("p", 1)
        job.batch("p", 2)
        job.check(0, 1, 2)
        assert job.count() == 15
        if not fate.has_struck:
            break
    assert requests > 15


@pytest.mark.parametrize(
    ("meanwhile", "first"), [pytest.param("repeated", 1, marks=pytest.mark.long), ("followed", 2)]
)
def test_who_was_thought_to_be_dead_goes_on(
    node: BrokerProcess, world: World, meanwhile: str, first: int
) -> None:
    """A task stands still anywhere, and goes on when its batch was repeated, or is long over."""
    for requests in count(first, 2):
        job = Job(node)
        job.batch("p", 0)
        fate = world.fates[f"frozen-{requests}"] = Fate(requests, thaw=Event())

        def late(job: Job = job, process: str = f"frozen-{requests}") -> None:
            with suppress(LateTask):
                job.batch(process, 1)

        frozen = Thread(target=late)
        frozen.start()
        while frozen.is_alive() and not fate.frozen.wait(0.01):
            pass
        try:
            job.batch("p", 1)
            if meanwhile == "followed":
                job.batch("p", 2)
        finally:
            assert fate.thaw is not None
            fate.thaw.set()
            frozen.join()
        job.batch("p", 2)
        job.check(0, 1, 2)
        if not fate.has_struck:
            break
    assert requests > 12


def test_attempts_at_the_same_time(node: BrokerProcess) -> None:
    """Parts of one partition, each tried twice: they fence each other, and each gets its turn."""
    job = Job(node)
    offsets = [range(100 * part, 100 * part + 30, 7) for part in range(3)]
    failures: list[Exception] = []

    def attempt(process: str, part: int) -> None:
        try:
            job.task(process, 0, *job.records(0, *offsets[part]))
        except Exception as error:  # noqa: BLE001 - it is looked at below
            failures.append(error)

    threads = [Thread(target=attempt, args=(f"w{n}", n % 3)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert sorted(job.values()) == sorted(f"0@{each}" for part in offsets for each in part)


def test_a_batch_may_be_cut_differently_when_it_is_repeated(node: BrokerProcess) -> None:
    job = Job(node)
    job.task("p", 0, *job.records(0, 60, 90))
    job.task("p", 0, *job.records(0, 10, 40, 60, 90, 95))
    job.task("p", 0, *job.records(0, 10))
    assert sorted(job.values()) == ["0@10", "0@40", "0@60", "0@90", "0@95"]


def test_the_broker_dies(node: BrokerProcess) -> None:
    job = Job(node)
    job.batch("p", 0)
    node.restart(kill=True)
    job.batch("p", 0)
    job.batch("p", 1)
    job.check(0, 1)


def test_another_query_starts_over_and_the_old_one_stops(node: BrokerProcess) -> None:
    job = Job(node)
    job.task("p", 5, *job.records(0, 1))
    job.task("p", 0, *job.records(0, 1), query_id=str(uuid4()))
    assert job.values() == ["0@1", "0@1"]
    with pytest.raises(LateTask, match="was replaced by"):
        job.task("p", 5, *job.records(0, 2))
    assert job.values() == ["0@1", "0@1"]


def test_a_checkpoint_that_is_too_old(node: BrokerProcess) -> None:
    job = Job(node)
    job.task("p", 5, *job.records(0, 1))
    with pytest.raises(LateTask, match="is at batch 4, but dead letters of batch 5 are written"):
        job.task("p", 4, *job.records(0, 1))


def test_a_change_in_the_middle_of_a_batch_loses_none(node: BrokerProcess) -> None:
    job = Job(node)
    job.task("p", 0, *job.records(0, 1, 9), definition="a")
    job.task("p", 0, *job.records(0, 1, 5, 9), definition="b")
    assert sorted(job.values()) == ["0@1", "0@1", "0@5", "0@9", "0@9"]


def test_a_topic_that_was_created_again(node: BrokerProcess) -> None:
    """Its offsets begin again; those of a later batch are new, whatever they are."""
    job = Job(node)
    job.task("p", 0, *job.records(0, 100))
    job.task("p", 1, *job.records(0, 1))
    assert sorted(job.values()) == ["0@1", "0@100"]


def test_progress_as_text() -> None:
    progress = LetterProgress("q", ("o",), 3, "d", ((3, 17), (40, 41)), 12)
    assert LetterProgress.decode(progress.encode()) == progress
    assert LetterProgress.decode("") == LetterProgress()
    assert LetterProgress.decode('{"of": "others"}') == LetterProgress()
    assert progress.plus(17, 30, 1).done == ((3, 30), (40, 41))
    assert progress.plus(2, 45, 1).done == ((2, 45),)
    with pytest.raises(InvalidArgument, match="lower minPartitions"):
        LetterProgress(done=tuple((n, n + 1) for n in range(0, 400, 2))).plus(1000, 1001, 1)
    large = LetterProgress(
        "12345678",
        tuple(f"{n:08}" for n in range(20)),
        10**6,
        "12345678",
        tuple((10**12 + n * 10**6, 10**12 + n * 10**6 + 9000) for n in range(200)),
        10**9,
    )
    assert len(large.encode()) < 4096, "offset.metadata.max.bytes"
