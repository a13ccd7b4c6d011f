"""`compression.type` of a topic: how batches are stored."""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.broker.handlers.produce import handle as handle_produce
from barnabas.broker.replica import recompression as recompression_module
from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.recompression import (
    COMPRESSION_FAILED,
    REQUEST_TOO_LARGE,
    TOO_MANY_WAIT,
    NotCompressed,
    PreparedBatch,
    Recompression,
)
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.request_budget import RequestBudget
from barnabas.log import Log, LogConfig
from barnabas.metadata.image import PartitionImage
from barnabas.records.batch import Buffer, parse_header
from barnabas.records.compression import Compression
from barnabas.records.recompress import CompressionTarget, recompressed
from barnabas.wire.errors import ErrorCode
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    SET,
    TOPIC,
    alter,
    create_topic,
    fetch_one,
    produce,
    produce_request,
    produced,
    stored,
)
from tests.log.memory_disk import MemoryDisk
from tests.support.broker import BrokerProcess, wait_until
from tests.support.wait import LIMIT_S

NAMES = {"uncompressed": Compression.NONE} | {str(codec): codec for codec in list(Compression)[1:]}


def codecs(client: RawClient, topic: str) -> list[int]:
    """Of the stored batches."""
    records = memoryview(fetch_one(client, topic).records or b"")
    found = []
    while records:
        header = parse_header(records)
        found.append(header.compression)
        records = records[header.size :]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_stored_in_the_topics_codec(client: RawClient, topic: str, name: str) -> None:
    create_topic(client, topic, compression_type=name)
    sent = [batch(b"%s" % str(codec).encode() * 100, compression=codec) for codec in Compression]
    for offset, records in enumerate(sent):
        assert produced(client, topic, records, acks=offset % 2 * 2 - 1) == offset
    assert codecs(client, topic) == [NAMES[name]] * len(sent)
    assert stored(client, topic) == [str(codec).encode() * 100 for codec in Compression]


def test_the_setting_can_be_changed(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    assert alter(client, (TOPIC, topic), ("compression.type", SET, "zstd")) == (0, None)
    produced(client, topic, batch(b"b"))
    assert alter(client, (TOPIC, topic), ("compression.type", SET, "producer")) == (0, None)
    produced(client, topic, batch(b"c", compression=Compression.LZ4))
    assert codecs(client, topic) == [Compression.NONE, Compression.ZSTD, Compression.LZ4]
    assert alter(client, (TOPIC, topic), ("compression.type", SET, "brotli"))[0]


def test_a_pipeline_keeps_its_order(client: RawClient, topic: str) -> None:
    """A large batch takes longer to compress, and others need nothing at all."""
    create_topic(client, topic, compression_type="gzip")
    count = 60
    sent = []
    for number in range(count):
        value = b"%d-" % number + b"x" * (300_000 if number % 3 == 0 else 10)
        codec = Compression.GZIP if number % 3 == 2 else Compression.NONE
        sequence = {"producer_id": 9, "producer_epoch": 0, "base_sequence": number}
        sent.append(batch(value, compression=codec, **sequence))
        client.send(produce_request(topic, sent[-1]), BY_NAME)
    for number in range(count):
        ((answer,),) = (t.partition_responses for t in client.receive().responses)
        assert (answer.error_code, answer.base_offset) == (0, number), answer.error_message
    repeated = produce(client, topic, sent[-1])
    assert (repeated.error_code, repeated.base_offset) == (0, count - 1)
    numbers = [value.partition(b"-")[0] for value in stored(client, topic) if value]
    assert numbers == [b"%d" % number for number in range(count)]


def test_without_acknowledgements(client: RawClient, topic: str) -> None:
    create_topic(client, topic, compression_type="snappy")
    client.send(produce_request(topic, batch(b"quiet"), acks=0), BY_NAME)
    client.expect_no_answer()
    assert produced(client, topic, batch(b"loud")) == 1
    assert stored(client, topic) == [b"quiet", b"loud"]


def test_a_bad_batch_is_refused_as_ever(client: RawClient, topic: str) -> None:
    create_topic(client, topic, compression_type="gzip")
    damaged = bytearray(batch(b"a"))
    damaged[-1] ^= 1
    assert produce(client, topic, bytes(damaged)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert produce(client, topic, b"").error_code
    produced(client, topic, batch(b"b"))


def test_the_time_of_the_append(client: RawClient, topic: str) -> None:
    create_topic(client, topic, compression_type="lz4", message_timestamp_type="LogAppendTime")
    assert produce(client, topic, batch(b"a")).log_append_time_ms > 0
    assert codecs(client, topic) == [Compression.LZ4]


def gzip_partition() -> Any:
    limits = SimpleNamespace(
        compression=CompressionTarget(Compression.GZIP),
        max_message_bytes=1 << 20,
        max_decompressed_bytes=1 << 20,
    )
    return type("Led", (), {"limits": limits, "name": "t-0", "is_leader": True})()


class ManualThreads:
    """An event loop whose executor runs a job when the test says so."""

    def __init__(self) -> None:
        self.jobs: deque[Any] = deque()

    def call_soon(self, _: Any) -> None:
        raise AssertionError("nothing here is large")

    def run_in_executor(self, _: Any, work: Any) -> Any:
        callbacks: list[Any] = []
        job = SimpleNamespace(
            done=lambda: job.made is not None,
            cancelled=lambda: False,
            exception=lambda: None,
            result=lambda: job.made,
            add_done_callback=callbacks.append,
            made=None,
            work=work,
            callbacks=callbacks,
        )
        self.jobs.append(job)
        return job

    def finish(self, job: Any) -> None:
        job.made = job.work()
        for callback in job.callbacks:
            callback(job)


def test_what_waits_is_limited() -> None:
    partition, other = gzip_partition(), gzip_partition()
    seen: list[Buffer | PreparedBatch | NotCompressed] = []
    plain, done = batch(b"x" * 100), batch(b"y", compression=Compression.GZIP)
    threads: Any = ManualThreads()
    recompression = Recompression(threads, None, len(plain) * 2 + len(done))  # type: ignore[arg-type]
    assert recompression.passes(partition, done), "nothing to do"
    for each in (plain, plain, done):
        recompression.when_compressed(partition, each, seen.append)
    assert not seen
    recompression.when_compressed(partition, done, seen.append)
    assert not seen, "the refusal waits for the batches before it"
    recompression.when_compressed(other, plain, seen.append)
    assert seen == [TOO_MANY_WAIT], "nothing of this partition waits"
    seen.clear()
    assert not recompression.passes(partition, done), "others wait"
    threads.finish(threads.jobs[1])
    threads.finish(threads.jobs[2])
    assert not seen, "the first is not done"
    threads.finish(threads.jobs[0])
    stored = [each.batch for each in seen[:3] if isinstance(each, PreparedBatch)]
    assert [parse_header(each).compression for each in stored] == [1, 1, 1]
    assert seen[3:] == [TOO_MANY_WAIT]
    assert not recompression.queues
    recompression.when_compressed(other, plain, seen.append)
    recompression.when_compressed(other, plain, seen.append)
    assert len(seen) == 4, "there is room again"


def checks(recompression: Recompression, sender: str, count: int) -> list[Any]:
    """What a connection gets for batches that only need a check, each in its own partition."""
    seen: list[Any] = []
    for _ in range(count):
        done = batch(b"y", compression=Compression.GZIP)
        recompression.when_compressed(gzip_partition(), done, seen.append, sender)
    return seen


def test_a_connection_that_fills_the_queue_leaves_room_for_others() -> None:
    threads: Any = ManualThreads()
    recompression = Recompression(threads, None)  # type: ignore[arg-type]
    assert checks(recompression, "greedy", 70) == [TOO_MANY_WAIT] * 6
    assert checks(recompression, "second", 33) == [TOO_MANY_WAIT], "half of the queue"
    assert checks(recompression, "third", 22) == [TOO_MANY_WAIT], "a third of the queue"
    assert checks(recompression, "greedy", 1) == [TOO_MANY_WAIT]
    for job in threads.jobs:
        threads.finish(job)
    assert not recompression.queues
    assert checks(recompression, "second", 65) == [TOO_MANY_WAIT], "it is alone"


def test_many_connections_share_the_queue() -> None:
    threads: Any = ManualThreads()
    recompression = Recompression(threads, None)  # type: ignore[arg-type]
    refused = [len(checks(recompression, f"{number}", 2)) for number in range(300)]
    assert refused[:32] == [0] * 32
    assert refused[32:64] == [1] * 32, "one each"
    assert len(threads.jobs) == 256
    assert refused[-1] == 2, "that is all"


def test_a_batch_over_its_requests_budget_is_refused_after_those_before_it() -> None:
    partition, other = gzip_partition(), gzip_partition()
    plain, spent = batch(b"x" * 100), RequestBudget(1 << 20)
    spent.take(1 << 20)
    seen: list[Buffer | PreparedBatch | NotCompressed] = []
    threads: Any = ManualThreads()
    recompression = Recompression(threads, None)  # type: ignore[arg-type]
    recompression.when_compressed(partition, plain, seen.append)
    recompression.when_compressed(partition, plain, seen.append, None, spent)
    assert not seen, "it waits for the batch before it"
    recompression.when_compressed(other, plain, seen.append, None, spent)
    assert seen == [REQUEST_TOO_LARGE]
    threads.finish(threads.jobs[0])
    assert seen[2:] == [REQUEST_TOO_LARGE]


def test_nothing_is_appended_after_the_node_has_closed_its_logs() -> None:
    partition = gzip_partition()
    seen: list[Buffer | PreparedBatch | NotCompressed] = []
    threads: Any = ManualThreads()
    recompression = Recompression(threads, None)  # type: ignore[arg-type]
    recompression.when_compressed(partition, batch(b"x" * 100), seen.append)
    recompression.close()
    threads.finish(threads.jobs[0])
    assert not seen


def test_nothing_overtakes_a_batch_that_is_refused_because_too_many_wait() -> None:
    """Some clients make of OUT_OF_ORDER_SEQUENCE_NUMBER a new epoch for all their partitions."""
    loop = asyncio.new_event_loop()
    host = PartitionHost(1, loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None)
    limits = AppendLimits(
        1 << 20,
        1 << 20,
        2**63 - 1,
        2**63 - 1,
        needs_keys=False,
        compression=CompressionTarget(Compression.GZIP),
    )
    log = Log.open(MemoryDisk(), "data/t-0", LogConfig(), 0)
    partition = Partition("t", 0, bytes(16), log, limits, host)
    partition.apply(PartitionImage(0, [1], [1], 1, 1, 1))
    sent = [
        bytearray(batch(b"%d" % number, producer_id=9, producer_epoch=0, base_sequence=number))
        for number in range(4)
    ]
    threads: Any = ManualThreads()
    node: Any = SimpleNamespace(
        loop=loop,
        clock=SimpleNamespace(now_ms=lambda: 0),
        recompression=Recompression(threads, None, len(sent[0]) * 2),  # type: ignore[arg-type]
        partitions=SimpleNamespace(by_name={"t": [partition]}, by_id={}),
    )
    context: Any = SimpleNamespace(version=9, connection=None)
    outcomes: list[Any] = []

    def receive(records: bytearray) -> None:
        frame = bytearray(records)
        request = produce_request("t", frame, acks=1)  # type: ignore[arg-type]
        outcomes.append(handle_produce(node, request, context))
        frame[:] = bytes(len(frame))  # the next request is read into it

    for records in sent[:3]:
        receive(records)
    threads.finish(threads.jobs[0])
    receive(sent[3])  # there is room again
    threads.finish(threads.jobs[1])
    threads.finish(threads.jobs[2])
    responses = [
        outcome.result() if isinstance(outcome, asyncio.Future) else outcome for outcome in outcomes
    ]
    errors = [
        answer.error_code
        for response in responses
        for topic in response.responses
        for answer in topic.partition_responses
    ]
    refused = ErrorCode.REQUEST_TIMED_OUT
    assert errors == [ErrorCode.NONE, ErrorCode.NONE, refused, refused]
    loop.close()


def failing_recompression(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compression of each batch that contains `poison` raises an error."""

    def compress(batch: Buffer, *arguments: Any, **options: Any) -> Buffer:
        if b"poison" in bytes(batch):
            raise RuntimeError("codec is broken")
        return recompressed(batch, *arguments, **options)

    monkeypatch.setattr(recompression_module, "recompressed", compress)


def test_a_failed_compression_refuses_its_batch_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing_recompression(monkeypatch)
    seen: list[Buffer | PreparedBatch | NotCompressed] = []
    ready = batch(b"y", compression=Compression.GZIP)

    async def compress() -> Recompression:
        partition = gzip_partition()
        with ThreadPoolExecutor(1) as threads:
            recompression = Recompression(asyncio.get_running_loop(), threads)
            for each in (batch(b"x" * 100), batch(b"poison"), ready):
                recompression.when_compressed(partition, each, seen.append)
            async with asyncio.timeout(60):
                while len(seen) < 3:
                    await asyncio.sleep(0.01)
            return recompression

    assert not asyncio.run(compress()).queues
    compressed, failed, behind = seen
    assert isinstance(compressed, PreparedBatch)
    assert parse_header(compressed.batch).compression == Compression.GZIP
    assert failed is COMPRESSION_FAILED
    assert isinstance(behind, PreparedBatch)
    assert behind.batch == ready
    (logged,) = caplog.records
    assert logged.getMessage() == "cannot compress a batch of t-0; it is refused"
    assert "codec is broken" in caplog.text


def test_a_produce_whose_compression_failed_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_recompression(monkeypatch)

    async def respond() -> Any:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as threads:
            node: Any = SimpleNamespace(
                loop=loop,
                clock=SimpleNamespace(now_ms=lambda: 0),
                recompression=Recompression(loop, threads),
                partitions=SimpleNamespace(by_name={"t": [gzip_partition()]}, by_id={}),
            )
            context: Any = SimpleNamespace(version=9, connection=None)
            outcome = handle_produce(node, produce_request("t", batch(b"poison")), context)
            assert isinstance(outcome, asyncio.Future)
            return await asyncio.wait_for(outcome, 60)

    ((answer,),) = (topic.partition_responses for topic in asyncio.run(respond()).responses)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "failed to compress" in answer.error_message


def test_stock_clients_read_it(client: RawClient, node: BrokerProcess, topic: str) -> None:
    create_topic(client, topic, compression_type="zstd", compression_zstd_level="10")
    bootstrap = f"{node.host}:{node.port}"
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4"})
    for number in range(100):
        producer.produce(topic, b"value %d" % number)
    assert producer.flush(LIMIT_S) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []

    def read() -> bool:
        values.extend(message.value() for message in consumer.consume(100, 1.0))
        return len(values) == 100

    wait_until(read, "not all records came")
    consumer.close()
    assert values == [b"value %d" % number for number in range(100)]
    assert set(codecs(client, topic)) == {Compression.ZSTD}
