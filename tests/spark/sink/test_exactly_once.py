"""The exactly-once sink without Spark: whatever dies, and wherever, each record is there once.

All that a process does for others to see are requests. So a process that dies anywhere is one whose
requests end with the n-th, which is sent or not, for every n there is; one that was thought to be
dead is one that stands still there and goes on later.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Event, Thread, Timer
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import barnabas
from barnabas.client.admin.transactions import fence_producer, list_transactions
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.client.consumer.range_tables import RangeTables
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.client.producer.prepared_transactions import PreparedTransaction
from barnabas.errors import BarnabasError, ConnectionLost, TransactionAborted
from barnabas.spark.cluster.connection import connect_when_up
from barnabas.spark.sink import transactional_writer as transactional_writing
from barnabas.spark.sink.commit_log import PREFIX, CommitLog
from barnabas.spark.sink.exactly_once import (
    CheckpointTooOld,
    DecidedAndLost,
    RunSuperseded,
    Task,
    Written,
    abort_batch,
    commit_batch,
)
from barnabas.spark.sink.options import SinkOptions
from barnabas.spark.sink.producer_settings import producer_settings
from barnabas.spark.sink.stream_writer import ExactlyOnceWriter, TaskWritten
from barnabas.spark.sink.transactional_writer import write_in_transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.spark.fate import Fate, Killed, World
from tests.support import fork_server
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async

TASKS = 2
_names = count()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {
        "transaction.two.phase.commit.enable": "true",
        "transaction.state.log.num.partitions": "2",
        "transaction.max.timeout.ms": "60000",
    }
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        yield broker


class Job:
    """A query, and what stands for Spark: it runs a batch in tasks, and then commits it."""

    def __init__(self, node: BrokerProcess) -> None:
        self.topic = f"out-{next(_names)}"
        self.query_id = str(uuid4())
        self.bootstrap = node.bootstrap
        self.timeout_ms: int | None = None
        with barnabas.Admin(node.bootstrap) as admin:
            admin.create_topic(self.topic, partitions=2)

    def options(self, process: str) -> SinkOptions:
        given = {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.client.id": process,
            "kafka.delivery.timeout.ms": "60000",
        }
        if self.timeout_ms is not None:
            given["kafka.transaction.timeout.ms"] = str(self.timeout_ms)
        producer = producer_settings(given)
        return SinkOptions(producer, self.topic, exactly_once=True)

    def write(self, process: str, run: str, batch: int, number: int, attempt: int = 0) -> Written:
        task = Task(self.query_id, run, batch, number, attempt)
        rows = pa.record_batch({"value": [f"{batch}/{number}/{row}" for row in range(3)]})
        return write_in_transaction(
            self.options(process), ["value"], task, iter([rows.slice(0, 0), rows])
        )

    def tasks(self, process: str, run: str, batch: int) -> list[Written]:
        transactional_writing._claims.clear()
        return [self.write(process, run, batch, number) for number in range(TASKS)]

    def commit(self, process: str, written: list[Written]) -> None:
        self.ask(
            process, lambda cluster: commit_batch(cluster, written, timeout_ms=self.timeout_ms)
        )

    def decide(self, process: str, written: list[Written]) -> None:
        """The first half of a commit: its driver dies before it has ended any transaction."""
        prepared = [each.prepared for each in written if each.prepared]
        batch = written[0].task.batch_id
        self.ask(
            process,
            lambda cluster: CommitLog(cluster, self.query_id).change(
                lambda state: state and state.with_batch(batch, prepared)
            ),
        )

    def abort(self, process: str, written: list[Written]) -> None:
        self.ask(process, lambda cluster: abort_batch(cluster, written))

    def run(self, process: str, run: str, batch: int) -> None:
        self.commit(process, self.tasks(process, run, batch))

    def run_or_abort(self, process: str, run: str, batch: int) -> None:
        """As Spark does: a batch that can't be committed is aborted."""
        try:
            written = self.tasks(process, run, batch)
            try:
                self.commit(process, written)
            except BarnabasError:
                self.abort(process, written)
        except BarnabasError:
            pass  # the query has failed

    def ask(self, process: str, question: Any) -> Any:
        return connect_when_up(self.options(process).producer.connection).ask(question)

    def check(self, *batches: int) -> None:
        """Each record of these batches is there once, nothing else is, and nothing is open."""
        values = self.ask("checker", self._read)
        expected = [f"{b}/{n}/{r}" for b in batches for n in range(TASKS) for r in range(3)]
        assert sorted(values) == sorted(expected)

    async def _read(self, cluster: ClusterClient) -> list[str]:
        for states in (["Ongoing"], ["PrepareCommit", "PrepareAbort"]):
            while left := [
                each
                for each in await list_transactions(cluster, states=states)
                if each.transactional_id.startswith(self.prefix)
            ]:
                assert states != ["Ongoing"], left
                await asyncio.sleep(0.01)
        partitions = [TopicPartition(self.topic, number) for number in range(2)]
        ends = await beginning_and_end(cluster, partitions, IsolationLevel.READ_COMMITTED)
        ranges = [RecordRange(each, *ends[each]) for each in partitions]
        reading = RangeTables(cluster, ranges, ["value"])
        values: list[str] = []
        while fetched := await reading.fetch():
            for table in (*reading.tables(fetched), *reading.rest()):
                values += [each.decode() for each in table.column("value").to_pylist()]
        return values

    @property
    def prefix(self) -> str:
        return f"{PREFIX}{self.query_id}"


def test_batches_one_after_the_other(node: BrokerProcess) -> None:
    job = Job(node)
    for batch in range(3):
        job.run("p", "run-1", batch)
    job.run("p", "run-1", 2)  # committed again: nothing happens
    job.check(0, 1, 2)


def test_a_batch_without_rows_costs_nothing(node: BrokerProcess) -> None:
    job = Job(node)
    transactional_writing._claims.clear()
    task = Task(job.query_id, "run-1", 0, 0, 0)
    written = write_in_transaction(job.options("p"), ["value"], task, iter([]))
    assert written.prepared is None
    job.commit("p", [written])
    job.run("p", "run-1", 1)
    job.check(1)


@pytest.mark.parametrize(
    "sends_it",
    [
        pytest.param(False, id="before", marks=pytest.mark.long),
        pytest.param(True, id="after"),
    ],
)
def test_all_dies_anywhere(node: BrokerProcess, world: World, sends_it: bool) -> None:
    """Tasks and driver are one process here: whatever it was, another run starts anew."""
    for requests in count(1):
        job = Job(node)
        job.run("p", "run-0", 0)
        fate = world.fates[f"dies-{requests}"] = Fate(requests, sends_it)
        with suppress(Killed, BarnabasError):
            job.run(f"dies-{requests}", "run-1", 1)
        job.run(f"lives-{requests}", "run-2", 1)
        job.check(0, 1)
        if not fate.has_struck:
            break
    assert requests > 20


@pytest.mark.parametrize("sends_it", [False, True], ids=["before", "after"])
def test_a_task_dies_anywhere_and_is_tried_again(
    node: BrokerProcess, world: World, sends_it: bool
) -> None:
    for requests in count(1):
        job = Job(node)
        fate = world.fates[f"task-{requests}"] = Fate(requests, sends_it)
        with suppress(Killed, BarnabasError):
            job.write(f"task-{requests}", "run-1", 0, 0)
        written = [job.write("p", "run-1", 0, 0, attempt=1), job.write("p", "run-1", 0, 1)]
        job.commit("p", written)
        job.check(0)
        if not fate.has_struck:
            break
    assert requests > 10


@pytest.mark.parametrize(
    ("meanwhile", "first"), [pytest.param("written", 1, marks=pytest.mark.long), ("committed", 2)]
)
def test_who_was_thought_to_be_dead_goes_on(
    node: BrokerProcess, world: World, meanwhile: str, first: int
) -> None:
    """A run stands still anywhere, and goes on when another has written or committed the batch.

    Every second place will do: what differs is whether a request went out before or after.
    """
    for requests in count(first, 2):
        job = Job(node)
        job.run("p", "run-0", 0)
        fate = world.fates[f"frozen-{requests}"] = Fate(requests, thaw=Event())
        run_1 = Thread(target=job.run_or_abort, args=(f"frozen-{requests}", "run-1", 1))
        run_1.start()
        while run_1.is_alive() and not fate.frozen.wait(0.01):
            pass
        try:
            written = job.tasks("p", "run-2", 1)
            if meanwhile == "committed":
                job.commit("p", written)
        finally:
            fate.thaw.set()
            run_1.join()
        if meanwhile == "written":
            try:
                job.commit("p", written)
            except (RunSuperseded, TransactionAborted):  # run-1 came by: the query fails
                job.abort("p", written)
                job.run("p", "run-3", 1)
        job.run("p", "run-4", 2)
        job.check(0, 1, 2)
        if not fate.has_struck:
            break
    assert requests > 20


def test_many_tasks_claim_at_once(node: BrokerProcess) -> None:
    job = Job(node)
    written: list[Written] = []

    def task(number: int) -> None:
        written.append(job.write(f"worker-{number}", "run-1", 0, number))

    threads = [Thread(target=task, args=(number,)) for number in range(TASKS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    job.commit("p", written)
    job.check(0)


def test_the_broker_dies_between_writing_and_deciding(node: BrokerProcess) -> None:
    job = Job(node)
    job.run("p", "run-1", 0)
    written = job.tasks("p", "run-1", 1)
    node.restart(kill=True)
    job.commit("p", written)
    job.check(0, 1)


def test_a_run_that_was_superseded_does_not_come_back(node: BrokerProcess) -> None:
    job = Job(node)
    job.run("p", "run-1", 0)
    written = job.tasks("p", "run-1", 1)
    job.run("p", "run-2", 1)
    with pytest.raises(RunSuperseded):
        job.commit("p", written)
    with pytest.raises(RunSuperseded):
        job.tasks("p", "run-1", 2)
    job.check(0, 1)


def test_a_batch_that_failed_is_rolled_back(node: BrokerProcess) -> None:
    job = Job(node)
    job.abort("p", job.tasks("p", "run-1", 0)[:1])
    job.abort("p", [])
    job.run("p", "run-2", 0)
    job.check(0)


def test_a_batch_that_is_decided_is_not_rolled_back(node: BrokerProcess, world: World) -> None:
    """Spark aborts a batch if committing it fails, however far that has come."""
    job = Job(node)
    written = job.tasks("p", "run-1", 0)

    job.decide("p", written)
    job.abort("p", written)
    job.run("p", "run-2", 0)
    job.check(0)


def test_a_checkpoint_from_before_the_last_batch_is_refused(node: BrokerProcess) -> None:
    job = Job(node)
    for batch in range(2):
        job.run("p", "run-1", batch)
    with pytest.raises(CheckpointTooOld, match="batch 1 is already committed"):
        job.run("p", "run-2", 0)
    job.check(0, 1)


@pytest.mark.parametrize("is_decided", [False, True], ids=["undecided", "decided"])
def test_the_driver_stays_away_for_longer_than_a_timeout(
    node: BrokerProcess, is_decided: bool
) -> None:
    job = Job(node)
    job.run("p", "run-1", 0)
    written = job.tasks("p", "run-1", 1)
    if is_decided:
        job.decide("p", written)
    with (
        suppress(BarnabasError),
        barnabas.Producer(
            node.bootstrap, transactional_id="ordinary", transaction_timeout_ms=300
        ) as producer,
        producer.transaction(),
    ):
        producer.send(job.topic, b"too late").result()
        job.ask("p", lambda cluster: _until_rolled_back(cluster, "ordinary"))
    job.run("p", "run-2", 1)
    job.check(0, 1)


async def _until_rolled_back(cluster: ClusterClient, prefix: str) -> None:
    """Until the broker has ended the transactions whose ids begin with this."""

    async def has_ended() -> bool:
        ongoing = await list_transactions(cluster, states=["Ongoing"])
        return not any(each.transactional_id.startswith(prefix) for each in ongoing)

    await wait_until_async(has_ended)


def test_what_a_query_leaves_that_never_comes_back_is_found_and_ended(node: BrokerProcess) -> None:
    def command(*arguments: str) -> str:
        command = [sys.executable, "-m", "barnabas", "transactions", *arguments]
        there = ["--bootstrap", node.bootstrap]
        return fork_server.run(
            [*command, *there], stdout=subprocess.PIPE, check=True
        ).stdout.decode()

    job = Job(node)
    job.tasks("p", "run-1", 0)
    listed = json.loads(command("list", "--state", "Ongoing", "--older-than", "0s", "--json"))
    ids = [each["transactional_id"] for each in listed]
    left = [each for each in ids if each.startswith(job.prefix)]
    assert len(left) == TASKS
    assert "no timeout" in command("describe", left[0])
    for each in left:
        command("fence", each)
    job.check()  # nothing is there, and nothing is open


# -- brokers that go away --------------------------------------------------------------------------

Answer = Callable[[Any, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class Faults:
    """Lets the n-th request of a process, of those that are counted, get another answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._send = BrokerConnection.send
        self._process = ""
        self._request: type[Any] = object
        self._left = 0
        self._answer: Answer | None = None
        faults = self

        async def send(connection: BrokerConnection, request: Any, *args: Any, **more: Any) -> Any:
            return await faults._sent(connection, request, *args, **more)

        monkeypatch.setattr(BrokerConnection, "send", send)

    def expect(self, process: str, number: int, answer: Answer, request: type = object) -> None:
        self._process, self._left, self._answer, self._request = process, number, answer, request

    @property
    def has_struck(self) -> bool:
        return self._left <= 0

    async def _sent(
        self, connection: BrokerConnection, request: Any, *args: Any, **more: Any
    ) -> Any:
        def send() -> Awaitable[Any]:
            return self._send(connection, request, *args, **more)

        if connection._client_id != self._process or not isinstance(request, self._request):
            return await send()
        self._left -= 1
        if self._left or self._answer is None:
            return await send()
        return await self._answer(request, send)


@pytest.mark.parametrize("sends_it", [False, True], ids=["before", "after"])
def test_a_connection_breaks_anywhere(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch, sends_it: bool
) -> None:
    """Whatever was requested is requested again: neither a task nor the commit fails."""
    faults = Faults(monkeypatch)

    async def break_off(_: Any, send: Callable[[], Awaitable[Any]]) -> Any:
        if sends_it:
            await send()
        raise ConnectionLost("the broker was killed")

    for requests in count(1):
        job = Job(node)
        process = f"cut-off-{sends_it}-{requests}"
        faults.expect(process, requests, break_off)
        job.run(process, "run-1", 0)
        job.check(0)
        if not faults.has_struck:
            break
    assert requests > 20


def test_a_leader_does_not_know_the_commit_log_yet(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch creates the topic; brokers hear of it one after the other."""
    faults = Faults(monkeypatch)

    async def unknown(_: Any, send: Callable[[], Awaitable[Any]]) -> Any:
        response = await send()
        for topic in response.topics:
            for partition in topic.partitions:
                partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response

    for requests in count(1):
        job = Job(node)
        process = f"early-{requests}"
        faults.expect(process, requests, unknown, ListOffsetsRequest)
        job.run(process, "run-1", 0)
        job.check(0)
        if not faults.has_struck:
            break
    assert requests > 4


def test_a_broker_without_a_controller_can_not_name_the_commit_log(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Faults(monkeypatch)

    async def unavailable(_: Any, send: Callable[[], Awaitable[Any]]) -> Any:
        response = await send()
        for topic in response.topics:
            topic.error_code, topic.partitions = ErrorCode.LEADER_NOT_AVAILABLE, []
        return response

    job = Job(node)
    faults.expect("headless", 2, unavailable, MetadataRequest)
    job.run("headless", "run-1", 0)
    assert faults.has_struck
    job.check(0)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED])
def test_the_driver_repeats_a_decision_that_was_rolled_back(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    """The coordinator does that when the change takes longer than its timeout."""
    faults = Faults(monkeypatch)

    async def refuse(_: Any, __: Callable[[], Awaitable[Any]]) -> Any:
        return EndTxnResponse(error_code=code)

    job = Job(node)
    written = job.tasks("p", "run-1", 0)
    faults.expect(f"driver-{code.name}", 1, refuse, EndTxnRequest)
    job.commit(f"driver-{code.name}", written)
    assert faults.has_struck
    job.check(0)


def test_the_driver_does_not_decide_what_is_gone_when_it_repeats(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there before the first attempt; then it timed out, or an abort rolled it back."""
    faults = Faults(monkeypatch)
    job = Job(node)
    written = job.tasks("p", "run-1", 0)
    rolled_back = written[0].task.transactional_id

    async def refuse(_: Any, __: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.to_thread(job.ask, "hand", lambda each: fence_producer(each, rolled_back))
        return EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED)

    faults.expect("late-driver", 1, refuse, EndTxnRequest)
    with pytest.raises(TransactionAborted, match="written again"):
        job.commit("late-driver", written)
    assert faults.has_struck
    job.abort("p", written)
    job.run("p", "run-2", 0)
    job.check(0)


def test_the_driver_repeats_a_rollback_that_was_fenced(
    node: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Faults(monkeypatch)

    async def fence(_: Any, __: Callable[[], Awaitable[Any]]) -> Any:
        return InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED)

    job = Job(node)
    written = job.tasks("p", "run-1", 0)
    faults.expect("rolling-back", 1, fence, InitProducerIdRequest)
    job.abort("rolling-back", written)
    assert faults.has_struck
    job.check()


def test_no_broker_is_up_when_a_worker_starts(node: BrokerProcess) -> None:
    job = Job(node)
    written = job.tasks("p", "run-1", 0)
    node.kill()
    restart = Timer(2.0, node.start)
    restart.start()
    try:
        writer = ExactlyOnceWriter(job.options("late"), StructType().add("value", "string"))
        writer.commit([TaskWritten(each) for each in written], 0)
    finally:
        restart.join()
    job.check(0)


# -- what can be lost ------------------------------------------------------------------------------


def test_what_was_rolled_back_by_hand_is_written_again(node: BrokerProcess) -> None:
    job = Job(node)
    written = job.tasks("p", "run-1", 0)
    job.ask("p", lambda cluster: fence_producer(cluster, written[0].task.transactional_id))
    with pytest.raises(TransactionAborted, match="written again"):
        job.commit("p", written)
    job.abort("p", written)
    job.run("p", "run-2", 0)
    job.check(0)


@pytest.mark.parametrize("timeout_ms", [None, 30_000])
def test_what_was_decided_and_is_gone_is_told(node: BrokerProcess, timeout_ms: int | None) -> None:
    job = Job(node)
    job.timeout_ms = timeout_ms
    written = job.tasks("p", "run-1", 0)

    job.decide("p", written)
    job.ask("p", lambda cluster: fence_producer(cluster, written[0].task.transactional_id))
    with pytest.raises(DecidedAndLost, match="batch 0"):
        job.run("p", "run-2", 0)


@pytest.mark.parametrize("timeout_ms", [None, 30_000])
def test_ids_are_forgotten_when_their_transaction_ended_long_ago(
    node: BrokerProcess, timeout_ms: int | None
) -> None:
    """With a timeout nobody knows how it ended; without one it was committed."""
    job = Job(node)
    job.timeout_ms = timeout_ms
    job.tasks("p", "run-1", 0)
    long_ago = PreparedTransaction(f"{job.prefix}-7-0", 1, 0)

    async def decide(cluster: ClusterClient) -> None:
        await CommitLog(cluster, job.query_id).change(
            lambda state: state and state.with_batch(0, [long_ago])
        )

    job.ask("p", decide)
    if timeout_ms is None:
        job.run("p", "run-2", 0)
        job.check()
    else:
        with pytest.raises(DecidedAndLost):
            job.run("p", "run-2", 0)


def test_a_timeout_runs_where_it_is_asked_for(node: BrokerProcess) -> None:
    job = Job(node)
    job.timeout_ms = 5_000  # long enough for a slow machine to write everything
    written = job.tasks("p", "run-1", 0)
    job.ask("p", lambda cluster: _until_rolled_back(cluster, job.prefix))
    with pytest.raises(TransactionAborted, match="written again"):
        job.commit("p", written)
    job.timeout_ms = 30_000
    job.run("p", "run-2", 0)
    job.check(0)
