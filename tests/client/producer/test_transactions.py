"""Transactions on a real broker, in both generations of the protocol."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from time import time
from typing import Any
from uuid import uuid4

import pytest

from barnabas.client.admin.active_producers import (
    abort_transaction,
    describe_producers,
    find_hanging,
    led_partitions,
)
from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import (
    describe_transaction,
    fence_producer,
    list_transactions,
)
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import BrokerError, InvalidArgument, ProducerFenced, TransactionAborted
from barnabas.wire.errors import ErrorCode
from tests.client.core_consumer import CoreConsumer
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async

COMMITTED = IsolationLevel.READ_COMMITTED
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED


@pytest.fixture(params=["implicit", "classic"], autouse=True)
def generation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As the broker says, or as if it had never heard of the newer one."""
    if request.param == "classic":
        monkeypatch.setattr(BrokerConnection, "feature_level", lambda _self, _name: 0)
    return str(request.param)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def unique(name: str) -> str:
    return f"{name}-{uuid4().hex[:10]}"


async def topic_of(cluster: ClusterClient, partitions: int = 1) -> str:
    name = unique("t")
    await create_topic(cluster, name, partitions=partitions)
    return name


async def read(
    cluster: ClusterClient, topic: str, isolation: IsolationLevel = COMMITTED
) -> dict[int, list[bytes]]:
    """All that is there now, by partition."""
    partitions = [
        TopicPartition(topic, each.partition) for each in (await cluster.topic(topic)).partitions
    ]
    values: dict[int, list[bytes]] = {each.partition: [] for each in partitions}
    ends = await list_offsets(cluster, dict.fromkeys(partitions, LATEST), isolation)
    tuning = FetchTuning(max_wait_ms=50)
    async with CoreConsumer(cluster, isolation=isolation, tuning=tuning) as consumer:
        await consumer.assign(dict.fromkeys(partitions, 0))
        while any(consumer.positions[each] < ends[each].offset for each in partitions):
            for message in await consumer.poll():
                values[message.partition].append(message.value)
    return values


def test_a_transaction_is_seen_as_a_whole_once_it_is_committed(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_of(cluster, 3)
            async with RecordProducer(cluster, transactional_id=unique("id")) as producer:
                for number in range(5):
                    async with producer.transaction():
                        for partition in range(3):
                            await producer.send(topic, b"%d" % number, partition=partition)
                        await producer.flush()
                        before = await read(cluster, topic)
                        assert [len(each) for each in before.values()] == [number] * 3
                        assert len((await read(cluster, topic, UNCOMMITTED))[0]) == number + 1
                    await until_seen(cluster, topic, number + 1)
            assert set(map(tuple, (await read(cluster, topic)).values())) == {
                (b"0", b"1", b"2", b"3", b"4")
            }

    run(main())


async def until_seen(cluster: ClusterClient, topic: str, count: int) -> None:
    """Markers may come a moment after the commit is confirmed."""

    async def all_read() -> bool:
        return all(len(each) >= count for each in (await read(cluster, topic)).values())

    await wait_until_async(all_read)


def test_what_is_rolled_back_is_never_seen(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_of(cluster)
            async with RecordProducer(cluster, transactional_id=unique("id")) as producer:
                for number in range(6):
                    with suppress(KeyError):
                        async with producer.transaction():
                            await producer.send(topic, b"%d" % number)
                            if number % 2:
                                await producer.flush()
                                raise KeyError
                async with producer.transaction() as transaction:
                    future = await producer.send(topic, b"by hand")
                    await transaction.abort()
                with pytest.raises(TransactionAborted):
                    await future
                async with producer.transaction():
                    await producer.send(topic, b"last")
            await until_seen(cluster, topic, 4)
            assert await read(cluster, topic) == {0: [b"0", b"2", b"4", b"last"]}
            shown = (await read(cluster, topic, UNCOMMITTED))[0]
            assert set(shown) >= {b"0", b"1", b"2", b"3", b"4", b"5", b"last"}

    run(main())


def test_readers_of_committed_records_wait_before_an_open_transaction(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_of(cluster)
            async with (
                RecordProducer(cluster, transactional_id=unique("id")) as slow,
                RecordProducer(cluster) as plain,
                CoreConsumer(
                    cluster, isolation=COMMITTED, tuning=FetchTuning(max_wait_ms=50)
                ) as consumer,
            ):
                await consumer.assign({TopicPartition(topic, 0): 0})
                transaction = slow.transaction()
                transaction.begin()
                await slow.send(topic, b"in it")
                await slow.flush()
                await (await plain.send(topic, b"behind it"))
                assert await consumer.poll(200) == []
                await transaction.commit()
                values: list[bytes | None] = []
                while len(values) < 2:
                    values += [message.value for message in await consumer.poll()]
                assert values == [b"in it", b"behind it"]

    run(main())


def test_a_transaction_without_records_ends_quietly(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            name = unique("id")
            async with RecordProducer(cluster, transactional_id=name) as producer:
                async with producer.transaction():
                    pass
                with suppress(KeyError):
                    async with producer.transaction():
                        raise KeyError
            assert (await describe_transaction(cluster, name)).state == "Empty"

    run(main())


def test_the_last_producer_with_an_id_fences_the_one_before(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic, name = await topic_of(cluster), unique("id")
            async with RecordProducer(cluster, transactional_id=name) as zombie:
                left_open = zombie.transaction()
                left_open.begin()
                await zombie.send(topic, b"zombie")
                await zombie.flush()
                async with RecordProducer(cluster, transactional_id=name) as producer:
                    async with producer.transaction():
                        await producer.send(topic, b"heir")
                    with pytest.raises(ProducerFenced):
                        await left_open.commit()
                    with pytest.raises(ProducerFenced):
                        async with zombie.transaction():
                            pass
                    async with producer.transaction():
                        await producer.send(topic, b"heir again")
            await until_seen(cluster, topic, 2)
            assert await read(cluster, topic) == {0: [b"heir", b"heir again"]}

    run(main())


def test_a_transaction_that_takes_too_long_is_rolled_back(bootstrap: str, generation: str) -> None:
    """The newer generation can go on after it; in the older one the producer counts as fenced."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic, name = await topic_of(cluster), unique("id")
            async with RecordProducer(
                cluster, transactional_id=name, transaction_timeout_ms=5_000
            ) as producer:
                transaction = producer.transaction()
                transaction.begin()
                await producer.send(topic, b"late")
                await producer.flush()

                async def is_aborted() -> bool:
                    return (await describe_transaction(cluster, name)).state == "CompleteAbort"

                await wait_until_async(is_aborted)
                if generation == "classic":
                    with pytest.raises(ProducerFenced):
                        await transaction.commit()
                    return
                with pytest.raises(TransactionAborted, match="longer than 5000 ms"):
                    await transaction.commit()
                async with producer.transaction():
                    await producer.send(topic, b"next")
            await until_seen(cluster, topic, 1)
            assert await read(cluster, topic) == {0: [b"next"]}

    run(main())


def test_offsets_are_committed_with_the_transaction(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic, group = await topic_of(cluster), unique("g")
            partition = TopicPartition(topic, 0)
            async with RecordProducer(cluster, transactional_id=unique("id")) as producer:
                async with producer.transaction() as transaction:
                    await producer.send(topic, b"one")
                    await transaction.send_offsets(group, {partition: 7})
                assert await fetch_committed(cluster, group, [partition], stable=True) == {
                    partition: 7
                }
                with suppress(KeyError):
                    async with producer.transaction() as transaction:
                        await transaction.send_offsets(group, {partition: 9})
                        raise KeyError
                assert await fetch_committed(cluster, group, [partition], stable=True) == {
                    partition: 7
                }

    run(main())


def test_read_work_write_exactly_once(bootstrap: str) -> None:
    """Every other attempt fails, before or after something was sent; nothing is lost or doubled."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            source, sink, group = await topic_of(cluster, 2), await topic_of(cluster), unique("g")
            async with RecordProducer(cluster, batch_bytes=120) as producer:
                for number in range(100):
                    await producer.send(source, b"%d" % number, partition=number % 2)
            done = attempts = 0
            async with (
                CoreConsumer(
                    cluster,
                    [source],
                    group_id=group,
                    commit_interval_ms=None,
                    isolation=COMMITTED,
                    tuning=FetchTuning(partition_max_bytes=500),
                ) as consumer,
                RecordProducer(cluster, transactional_id=unique("id")) as producer,
            ):
                while done < 100:
                    with suppress(KeyError):
                        async with producer.transaction(consumer):
                            messages = await consumer.poll(200)
                            count = len(messages)
                            for message in messages:
                                await producer.send(sink, message.value)
                            attempts += count > 0
                            if attempts % 2 and count:
                                if attempts % 4 == 1:
                                    await producer.flush()
                                raise KeyError
                        done += count
            assert attempts > 4
            await until_seen(cluster, sink, 100)
            values = [int(value) for value in (await read(cluster, sink))[0]]
            assert sorted(values) == list(range(100))
            assert [each for each in values if each % 2] == list(range(1, 100, 2))
            partitions = [TopicPartition(source, 0), TopicPartition(source, 1)]
            committed = await fetch_committed(cluster, group, partitions, stable=True)
            assert committed == dict.fromkeys(partitions, 50)

    run(main())


def test_who_has_lost_its_partitions_cannot_commit_them(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            source, sink, group = await topic_of(cluster), await topic_of(cluster), unique("g")
            async with RecordProducer(cluster) as plain:
                await plain.send(source, b"record")
            async with (
                CoreConsumer(
                    cluster, [source], group_id=group, commit_interval_ms=None
                ) as consumer,
                RecordProducer(cluster, transactional_id=unique("id")) as producer,
            ):
                transaction = producer.transaction(consumer)
                transaction.begin()
                while not await consumer.poll():
                    pass
                await producer.send(sink, b"work")
                await consumer.member.leave()  # as seen from the group: it was away too long
                with pytest.raises(TransactionAborted, match="UNKNOWN_MEMBER_ID") as raised:
                    await transaction.commit()
                assert raised.value.retriable
            assert await read(cluster, sink) == {0: []}
            assert await fetch_committed(cluster, group) == {}

    run(main())


def test_a_rebalance_in_the_middle_is_noticed(bootstrap: str) -> None:
    """What was marked before it is committed in the name of who marked it, and so refused."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            source, sink, group = await topic_of(cluster), await topic_of(cluster), unique("g")
            async with RecordProducer(cluster) as plain:
                await plain.send(source, b"record")
            async with (
                CoreConsumer(
                    cluster, [source], group_id=group, commit_interval_ms=None
                ) as consumer,
                CoreConsumer(cluster, [source], group_id=group, commit_interval_ms=None) as other,
                RecordProducer(cluster, transactional_id=unique("id")) as producer,
            ):
                consumer.member._heartbeat_interval_ms = 50
                transaction = producer.transaction(consumer)
                transaction.begin()
                while not await consumer.poll():
                    pass
                await producer.send(sink, b"work")
                before = consumer.member.membership
                joining = asyncio.create_task(other.join())
                while consumer.member.membership == before:
                    await consumer.poll(50)
                await joining
                with pytest.raises(TransactionAborted, match="ILLEGAL_GENERATION") as raised:
                    await transaction.commit()
                assert raised.value.retriable
            assert await read(cluster, sink) == {0: []}
            assert await fetch_committed(cluster, group) == {}

    run(main())


def test_markers_are_no_lag(bootstrap: str) -> None:
    """A group that has read everything has committed everything, the end of the transaction too."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic, group = await topic_of(cluster), unique("g")
            async with (
                RecordProducer(cluster, transactional_id=unique("id")) as producer,
                producer.transaction(),
            ):
                await producer.send(topic, b"record")
            await until_seen(cluster, topic, 1)
            partition = TopicPartition(topic, 0)
            async with CoreConsumer(cluster, [topic], group_id=group) as consumer:
                while consumer.positions.get(partition) != 2:
                    await consumer.poll(200)
            assert await fetch_committed(cluster, group) == {partition: 2}

    run(main())


def test_misuse_is_refused(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_of(cluster)
            with pytest.raises(InvalidArgument, match="acks"):
                RecordProducer(cluster, transactional_id="x", acks=1)
            with pytest.raises(InvalidArgument, match="transactional_id"):
                RecordProducer(cluster).transaction()
            async with RecordProducer(cluster, transactional_id=unique("id")) as producer:
                with pytest.raises(InvalidArgument, match="begin a transaction first"):
                    await producer.send(topic, b"")
                async with producer.transaction() as transaction:
                    with pytest.raises(InvalidArgument, match="another transaction is open"):
                        producer.transaction().begin()
                with pytest.raises(InvalidArgument, match="is ended"):
                    await producer.send(topic, b"")
                with pytest.raises(InvalidArgument, match="is ended"):
                    await transaction.send_offsets("g", {})
                async with producer.transaction():
                    for again in (transaction.commit, transaction.abort):
                        with pytest.raises(InvalidArgument, match="is ended"):
                            await again()
                    with pytest.raises(InvalidArgument, match="is ended"):
                        transaction.begin()
                    await producer.send(topic, b"record")
                await until_seen(cluster, topic, 1)
            with pytest.raises(BrokerError, match=r"transaction\.max\.timeout\.ms"):
                async with RecordProducer(
                    cluster, transactional_id=unique("id"), transaction_timeout_ms=1 << 30
                ):
                    pass

    run(main())


def test_transactions_are_listed_described_and_fenced(bootstrap: str, generation: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic, name = await topic_of(cluster), unique("id")
            partition = TopicPartition(topic, 0)
            with pytest.raises(BrokerError) as missing:
                await fence_producer(cluster, name)
            assert missing.value.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            async with RecordProducer(
                cluster, transactional_id=name, transaction_timeout_ms=50_000
            ) as producer:
                transaction = producer.transaction()
                transaction.begin()
                await producer.send(topic, b"record")
                await producer.flush()
                now_ms = int(time() * 1000)
                described = await describe_transaction(cluster, name)
                assert described.is_open
                assert described.state == "Ongoing"
                assert described.timeout_ms == 50_000
                assert described.partitions == [partition]
                assert described.start_time_ms is not None
                assert abs(described.start_time_ms - now_ms) < 20_000
                producer_id = described.producer_id
                (listed,) = await list_transactions(cluster, producer_ids=[producer_id])
                assert listed[:3] == (name, producer_id, "Ongoing")
                assert listed in await list_transactions(cluster, states=["Ongoing"])
                assert listed not in await list_transactions(cluster, states=["Empty"])
                assert listed not in await list_transactions(cluster, longer_than_ms=100_000)
                (known,) = await describe_producers(cluster, [partition])
                assert (known.producer_id, known.transaction_start_offset) == (producer_id, 0)
                assert await find_hanging(cluster, [partition], idle_since_ms=1 << 60) == []
                await fence_producer(cluster, name)
                with pytest.raises(ProducerFenced):
                    await transaction.commit()
            assert not (await describe_transaction(cluster, name)).is_open
            assert await read(cluster, topic) == {0: []}
            with pytest.raises(InvalidArgument, match="Nonsense"):
                await list_transactions(cluster, states=["Nonsense"])

    run(main())


def test_a_transaction_that_goes_on_is_not_ended_by_hand(bootstrap: str) -> None:
    """It would be torn: its other partitions are committed afterwards."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_of(cluster, 2)
            partition = TopicPartition(topic, 1)
            assert partition in await led_partitions(cluster)
            async with RecordProducer(cluster, transactional_id=unique("id")) as producer:
                async with producer.transaction():
                    for index in range(2):
                        await producer.send(topic, b"whole", partition=index)
                    await producer.flush()
                    (known,) = await describe_producers(cluster, [partition])
                    with pytest.raises(BrokerError) as refused:
                        await abort_transaction(cluster, known)
                    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
                    assert await describe_producers(cluster, [partition]) == [known]
                    assert await committed_end(cluster, partition) == 0
                await until_seen(cluster, topic, 1)
            assert await read(cluster, topic) == {0: [b"whole"], 1: [b"whole"]}

    run(main())


def test_a_transaction_that_hangs_is_ended_by_hand_in_one_partition(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {"transaction.state.log.num.partitions": "1"}) as broker:

        async def begin() -> str:
            async with ClusterClient(broker.bootstrap) as cluster:
                topic = await topic_of(cluster, 2)
                producer = RecordProducer(cluster, transactional_id=unique("id"))
                await producer.start()
                producer.transaction().begin()
                await producer.send(topic, b"torn", partition=1)
                await producer.flush()
                broker.kill()  # before the producer could roll it back
                return topic

        async def end(partition: TopicPartition) -> None:
            async with ClusterClient(broker.bootstrap) as cluster:
                (known,) = await find_hanging(cluster, [partition], idle_since_ms=1 << 60)
                assert await committed_end(cluster, partition) == 0
                await abort_transaction(cluster, known)
                (after,) = await describe_producers(cluster, [partition])
                assert after.transaction_start_offset is None
                assert await committed_end(cluster, partition) == 2
                assert await find_hanging(cluster, [partition], idle_since_ms=1 << 60) == []
                assert await read(cluster, partition.topic) == {0: [], 1: []}

        topic = asyncio.run(asyncio.wait_for(begin(), 120))
        for path in broker.data.glob("__transaction_state-*"):
            rmtree(path)  # the coordinator forgets it
        broker.start()
        run(end(TopicPartition(topic, 1)))
        broker.stop()


async def committed_end(cluster: ClusterClient, partition: TopicPartition) -> int:
    return (await list_offsets(cluster, {partition: LATEST}, COMMITTED))[partition].offset
