"""Order, batching, retries and failures of the producer, with faults a real broker rarely has."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import (
    BrokerError,
    DeliveryTimedOut,
    InvalidArgument,
    ProducerBroken,
    RecordTooLarge,
)
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_records, iter_batches
from barnabas.records.murmur2 import partition_for_key
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run
from tests.support.wait import wait_until_async

Judge = Callable[[TopicPartition, list[bytes]], int]


class Store:
    """What a broker got, and what it answers: a code of the judge, or NONE and the offset."""

    def __init__(self, broker: FakeBroker, judge: Judge = lambda _partition, _values: 0) -> None:
        self.values: dict[TopicPartition, list[bytes]] = {}
        self.judge = judge
        self.delay = 0.0
        self.under_way: Counter[TopicPartition] = Counter()
        self.most_under_way = 0
        broker.on(ProduceRequest, self.answer)

    async def answer(self, request: ProduceRequest) -> ProduceResponse | None:
        names = [
            TopicPartition(topic.name, data.index)
            for topic in request.topic_data
            for data in topic.partition_data
        ]
        self.under_way.update(names)
        self.most_under_way = max(self.most_under_way, *self.under_way.values())
        await asyncio.sleep(self.delay)
        self.under_way.subtract(names)
        response = ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        self._store(
                            TopicPartition(topic.name, data.index), bytes(data.records or b"")
                        )
                        for data in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )
        return response if request.acks else None

    def _store(self, partition: TopicPartition, records: bytes) -> PartitionProduceResponse:
        values = [record.value or b"" for record in decode_records(records)]
        code = self.judge(partition, values)
        stored = self.values.setdefault(partition, [])
        base_offset = len(stored)
        if code == ErrorCode.NONE:
            stored += values
        return PartitionProduceResponse(
            index=partition.partition, error_code=code, base_offset=base_offset
        )


def test_records_arrive_in_order_and_learn_their_offsets() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            async with RecordProducer(cluster, batch_bytes=150) as producer:
                futures = [await producer.send("t", b"%d" % i) for i in range(300)]
            assert store.values == {("t", 0): [b"%d" % i for i in range(300)]}
            assert [(await future).offset for future in futures] == list(range(300))
            assert producer.count.delivered == 300

    run(main())


def test_order_survives_retries() -> None:
    """Every batch fails once, in turn with codes that ask for another attempt."""
    refused: set[tuple[bytes, ...]] = set()
    codes = [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.CORRUPT_MESSAGE,  # damaged on its way
    ]

    def judge(_: TopicPartition, values: list[bytes]) -> int:
        if tuple(values) in refused:
            return ErrorCode.NONE
        refused.add(tuple(values))
        return codes[len(refused) % len(codes)]

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker, judge)
            async with RecordProducer(cluster, batch_bytes=150) as producer:
                for i in range(100):
                    await producer.send("t", b"%d" % i)
            assert store.values == {("t", 0): [b"%d" % i for i in range(100)]}
            assert len(refused) > 5
            assert producer.count.failed == 0

    run(main())


def test_one_batch_of_a_partition_is_under_way_at_a_time() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            store.delay = 0.005
            async with RecordProducer(cluster, batch_bytes=120) as producer:
                for i in range(60):
                    await producer.send("t", b"%d" % i)
            assert store.most_under_way == 1
            assert broker.count(ProduceRequest) > 5

    run(main())


def test_a_record_that_no_broker_would_read_is_refused_at_once() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            async with RecordProducer(cluster, max_request_bytes=1_000_000) as producer:
                await producer.send("t", b"before")
                with pytest.raises(RecordTooLarge, match=r"socket\.request\.max\.bytes"):
                    await producer.send("t", bytes(1_000_000))
                await producer.send("t", b"after")
            assert store.values == {("t", 0): [b"before", b"after"]}

    run(main())


def test_a_batch_that_is_too_large_is_cut_until_only_the_guilty_record_fails() -> None:
    def judge(_: TopicPartition, values: list[bytes]) -> int:
        too_large = len(values) > 4 or any(len(value) > 50 for value in values)
        return ErrorCode.MESSAGE_TOO_LARGE if too_large else ErrorCode.NONE

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker, judge)
            async with RecordProducer(cluster) as producer:
                futures = [await producer.send("t", b"%d" % i) for i in range(20)]
                futures.insert(7, await producer.send("t", b"x" * 51))
                futures += [await producer.send("t", b"%d" % i) for i in range(20, 30)]
            assert store.values == {("t", 0): [b"%d" % i for i in range(30)]}
            assert (producer.count.delivered, producer.count.failed) == (30, 1)
            with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
                await futures[7]
            assert (await futures[-1]).offset == 29

    run(main())


def test_what_is_refused_for_good_is_not_tried_again() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Store(broker, lambda _partition, _values: ErrorCode.INVALID_RECORD)
            async with RecordProducer(cluster) as producer:
                future = await producer.send("t", b"x")
            with pytest.raises(BrokerError, match="INVALID_RECORD"):
                await future
            assert broker.count(ProduceRequest) == 1
            assert producer.count.failed == 1
            assert isinstance(producer.count.first_error, BrokerError)

    run(main())


def test_retries_end_with_the_delivery_timeout() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Store(broker, lambda _partition, _values: ErrorCode.NOT_LEADER_OR_FOLLOWER)
            async with RecordProducer(cluster, delivery_timeout_ms=1_500) as producer:
                future = await producer.send("t", b"x")
            with pytest.raises((BrokerError, DeliveryTimedOut), match="NOT_LEADER_OR_FOLLOWER"):
                await future
            assert broker.count(ProduceRequest) >= 2

    run(main())


def test_keys_decide_and_records_without_one_are_spread() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 3}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            async with RecordProducer(cluster, batch_bytes=120) as producer:
                for i in range(300):
                    await producer.send("t", b"%d" % i)
                await producer.flush()
                spread = {each.partition: len(values) for each, values in store.values.items()}
                assert spread.keys() == {0, 1, 2}
                assert max(spread.values()) < 2 * min(spread.values())
                futures = [await producer.send("t", b"v", key=b"k") for _ in range(9)]
                futures.append(await producer.send("t", b"v", key=b"k", partition=0))
                await producer.flush()
            assert {(await future).partition for future in futures[:9]} == {
                partition_for_key(b"k", 3)
            }
            assert (await futures[9]).partition == 0

    run(main())


def test_the_buffer_is_bounded() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            store.delay = 0.005
            async with RecordProducer(cluster, batch_bytes=1_000, buffer_bytes=5_000) as producer:
                for i in range(100):
                    await producer.send("t", b"x" * 500)
                    waiting = i + 1 - producer.count.delivered
                    assert waiting * 500 <= 5_000 + 500
            assert producer.count.delivered == 100

    run(main())


@pytest.mark.parametrize("compression", list(Compression))
def test_every_compression(compression: Compression) -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            async with RecordProducer(cluster, compression=compression) as producer:
                for i in range(50):
                    await producer.send("t", b"%d" % i)
            assert store.values == {("t", 0): [b"%d" % i for i in range(50)]}

    run(main())


def test_without_acknowledgement_everything_is_still_written_before_the_end() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            async with ClusterClient(broker.bootstrap) as cluster:
                store = Store(broker)
                store.delay = 0.05  # so that more is under way than the kernel's buffers hold
                async with RecordProducer(cluster, acks=0) as producer:
                    futures = [await producer.send("t", bytes(5_000_000)) for _ in range(6)]
                assert (await futures[0]).offset == -1
            await wait_until_async(lambda: len(store.values.get(TopicPartition("t", 0), [])) >= 6)

    run(main())


def test_what_cannot_be_right_is_refused_at_once() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Store(broker)
            with pytest.raises(InvalidArgument, match="acks"):
                RecordProducer(cluster, acks=2)
            async with RecordProducer(cluster, auto_create=False) as producer:
                with pytest.raises(InvalidArgument, match="t has 2"):
                    await producer.send("t", b"x", partition=2)
                with pytest.raises(BrokerError, match="does not exist"):
                    await producer.send("nowhere", b"x")
                with pytest.raises(InvalidArgument, match="not a time"):
                    await producer.send("t", b"x", timestamp_ms=1 << 63)
                with pytest.raises(TypeError, match="value_format"):
                    await producer.send("t", "no bytes")  # type: ignore[arg-type]
                with pytest.raises(TypeError, match="header"):
                    await producer.send("t", b"x", headers=[("k", "v")])  # type: ignore[list-item]
                with pytest.raises(InvalidArgument, match="header"):
                    await producer.send("t", b"x", headers=[("\ud800", None)])

    run(main())


def test_a_lost_connection_is_replaced() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            store = Store(broker)
            answer, calls = store.answer, 0

            async def flaky(request: ProduceRequest) -> ProduceResponse | None:
                nonlocal calls
                calls += 1
                if calls % 2:
                    raise ConnectionResetError
                return await answer(request)

            broker.on(ProduceRequest, flaky)
            async with RecordProducer(cluster, batch_bytes=120) as producer:
                for i in range(30):
                    await producer.send("t", b"%d" % i)
            assert store.values == {("t", 0): [b"%d" % i for i in range(30)]}

    run(main())


def test_an_unforeseen_failure_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Store(broker)
            producer = RecordProducer(cluster)
            await producer.start()
            sent = [await producer.send("t", b"x", partition=n % 2) for n in range(4)]
            monkeypatch.setattr(PartitionQueue, "encode", fail)
            for each in sent:
                with pytest.raises(ProducerBroken, match="the producer is broken"):
                    await each
            with pytest.raises(ProducerBroken):
                await producer.send("t", b"x")
            with pytest.raises(ProducerBroken):
                await producer.close()
            assert producer.count.failed == 4

    run(main())


class Numbered(Store):
    """A broker that gives out ids and stores a batch that it knows already once."""

    def __init__(self, broker: FakeBroker) -> None:
        super().__init__(broker)
        self.ids = 0
        self.expected: dict[tuple[TopicPartition, int], int] = {}
        self.lose_answers = 0
        self.remembers_offsets = True
        broker.on(InitProducerIdRequest, self.introduce)

    def introduce(self, _: InitProducerIdRequest) -> InitProducerIdResponse:
        self.ids += 1
        return InitProducerIdResponse(producer_id=self.ids, producer_epoch=0)

    async def answer(self, request: ProduceRequest) -> ProduceResponse | None:
        response = await super().answer(request)
        if self.lose_answers:
            self.lose_answers -= 1
            raise ConnectionResetError
        return response

    def _store(self, partition: TopicPartition, records: bytes) -> PartitionProduceResponse:
        ((header, _),) = iter_batches(records)
        key = (partition, header.producer_id)
        expected = self.expected.get(key, 0)
        if header.base_sequence < expected and not self.remembers_offsets:
            code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
            return PartitionProduceResponse(
                index=partition.partition, error_code=code, base_offset=-1
            )
        if header.base_sequence < expected:
            return PartitionProduceResponse(
                index=partition.partition, base_offset=header.base_sequence
            )
        if header.base_sequence > expected:
            code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            return PartitionProduceResponse(index=partition.partition, error_code=code)
        answer = super()._store(partition, records)
        if answer.error_code == ErrorCode.NONE:
            self.expected[key] = expected + header.record_count
        return answer


def test_a_batch_whose_answer_is_lost_is_stored_once() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker:
            store = Numbered(broker)
            async with (
                ClusterClient(broker.bootstrap) as cluster,
                RecordProducer(cluster, batch_bytes=120) as producer,
            ):
                for i in range(60):
                    if i % 10 == 0:
                        store.lose_answers = 1
                    await producer.send("t", b"%d" % i, partition=i % 2)
                    await asyncio.sleep(0.001)
            for partition in (0, 1):
                wanted = [b"%d" % i for i in range(partition, 60, 2)]
                assert store.values[TopicPartition("t", partition)] == wanted
            assert store.ids == 1
            assert producer.count.delivered == 60

    run(main())


def test_a_duplicate_is_no_failure_where_the_broker_has_forgotten_its_offset() -> None:
    """It remembers the last five batches of a producer."""

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            store = Numbered(broker)
            store.remembers_offsets = False
            async with (
                ClusterClient(broker.bootstrap) as cluster,
                RecordProducer(cluster) as producer,
            ):
                store.lose_answers = 1
                assert (await (await producer.send("t", b"1"))).offset == -1
                assert (await (await producer.send("t", b"2"))).offset == 1
            assert store.values == {("t", 0): [b"1", b"2"]}
            assert producer.count.failed == 0

    run(main())


def test_a_partition_begins_anew_when_a_batch_was_given_up() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            store = Numbered(broker)
            async with (
                ClusterClient(broker.bootstrap) as cluster,
                RecordProducer(cluster, delivery_timeout_ms=1_500) as producer,
            ):
                await (await producer.send("t", b"1"))
                store.judge = lambda _partition, _values: ErrorCode.NOT_ENOUGH_REPLICAS
                with pytest.raises((BrokerError, DeliveryTimedOut)):
                    await (await producer.send("t", b"2"))
                store.judge = lambda _partition, _values: 0
                await (await producer.send("t", b"3"))
            assert store.values == {("t", 0): [b"1", b"3"]}
            assert store.ids == 2

    run(main())


def test_a_silent_broker_holds_nobody_longer_than_the_delivery_timeout() -> None:
    """What is given up while it is under way keeps its place: the next one comes after it."""

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            store = Numbered(broker)
            async with (
                ClusterClient(broker.bootstrap) as cluster,
                RecordProducer(cluster, delivery_timeout_ms=1_500) as producer,
            ):
                await (await producer.send("t", b"1"))
                answer, speaking = store.answer, asyncio.Event()

                async def silent(request: ProduceRequest) -> ProduceResponse | None:
                    await speaking.wait()
                    return await answer(request)

                broker.on(ProduceRequest, silent)
                with pytest.raises(DeliveryTimedOut, match="has not answered"):
                    await (await producer.send("t", b"2"))
                with pytest.raises(DeliveryTimedOut):
                    await (await producer.send("t", b"3"))
                assert broker.count(ProduceRequest) == 2
                speaking.set()
                assert (await (await producer.send("t", b"4"))).offset == 2
            assert store.values == {("t", 0): [b"1", b"2", b"4"]}
            assert store.ids == 2
            assert (producer.count.delivered, producer.count.failed) == (2, 2)

    run(main())


def test_a_partition_that_has_forgotten_the_producer_is_told_again() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            store = Numbered(broker)
            async with (
                ClusterClient(broker.bootstrap) as cluster,
                RecordProducer(cluster) as producer,
            ):
                await (await producer.send("t", b"1"))
                store.expected.clear()
                await (await producer.send("t", b"2"))
            assert store.values == {("t", 0): [b"1", b"2"]}
            assert store.ids == 2

    run(main())
