"""Transactions that are written in one place and ended in another, on a real broker."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import describe_transaction, fence_producer
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.producer.prepared_transactions import (
    PreparedTransaction,
    check_can_wait,
    end_prepared,
    keep_transaction,
    still_open,
)
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import BrokerError, InvalidArgument, NotAuthorized
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.client.core_consumer import CoreConsumer
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async

COMMITTED = IsolationLevel.READ_COMMITTED


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {
        "transaction.two.phase.commit.enable": "true",
        "transaction.state.log.num.partitions": "1",
    }
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        yield broker


@pytest.fixture(params=["implicit", "classic"])
def generation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As the broker says, or as if it had never heard of the newer one."""
    if request.param == "classic":
        monkeypatch.setattr(BrokerConnection, "feature_level", lambda _self, _name: 0)
    return str(request.param)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


async def prepare(cluster: ClusterClient, name: str, value: bytes) -> PreparedTransaction:
    """Write one record into the topic and under the transactional id of that name."""
    async with RecordProducer(
        cluster, transactional_id=name, transaction_timeout_ms=None
    ) as producer:
        transaction = producer.transaction()
        transaction.begin()
        await producer.send(name, value)
        prepared = await transaction.prepare()
        assert prepared is not None
        with pytest.raises(InvalidArgument):
            await producer.send(name, b"too late")
    return prepared


async def read(cluster: ClusterClient, topic: str) -> list[bytes | None]:
    """All that is committed and not held up by a transaction that is open."""
    partition = TopicPartition(topic, 0)
    end = (await list_offsets(cluster, {partition: LATEST}, COMMITTED))[partition].offset
    values: list[bytes | None] = []
    async with CoreConsumer(cluster, isolation=COMMITTED) as consumer:
        await consumer.assign({partition: 0})
        while consumer.positions[partition] < end:
            values += [each.value for each in await consumer.poll()]
    return values


async def settled(cluster: ClusterClient, name: str) -> None:
    """Wait for the markers."""

    async def has_ended() -> bool:
        return not (await describe_transaction(cluster, name)).is_open

    await wait_until_async(has_ended)


async def new_topic(cluster: ClusterClient) -> str:
    name = f"t-{uuid4().hex[:10]}"
    await create_topic(cluster, name)
    return name


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
@pytest.mark.usefixtures("generation")
def test_what_is_prepared_is_ended_by_whoever_knows_of_it(
    node: BrokerProcess, committed: bool
) -> None:
    async def main() -> None:
        async with ClusterClient(node.bootstrap) as cluster:
            name = await new_topic(cluster)
            prepared = await prepare(cluster, name, b"a")
        async with ClusterClient(node.bootstrap) as cluster:
            assert await read(cluster, name) == []
            assert await still_open(cluster, [prepared]) == [prepared]
            assert not (await describe_transaction(cluster, name)).has_timeout
            for _ in range(2):  # who was interrupted does it again
                await end_prepared(cluster, prepared, committed=committed)
            assert await still_open(cluster, [prepared]) == []
            with pytest.raises(BrokerError, match="INVALID_TXN_STATE"):
                await end_prepared(cluster, prepared, committed=not committed)
            await settled(cluster, name)
            assert await read(cluster, name) == ([b"a"] if committed else [])

    run(main())


@pytest.mark.usefixtures("generation")
def test_who_does_not_know_of_it_keeps_it_first(node: BrokerProcess) -> None:
    async def main() -> None:
        async with ClusterClient(node.bootstrap) as cluster:
            name = await new_topic(cluster)
            prepared = await prepare(cluster, name, b"a")
            kept = await keep_transaction(cluster, name)
            assert kept.found == prepared
            with pytest.raises(BrokerError, match="PRODUCER_FENCED"):
                await end_prepared(cluster, prepared, committed=False)
            await end_prepared(cluster, kept.owned, committed=True)
            await settled(cluster, name)
            assert await read(cluster, name) == [b"a"]
            assert (await keep_transaction(cluster, name)).found is None

    run(main())


def test_an_administrator_rolls_it_back(node: BrokerProcess) -> None:
    async def main() -> None:
        async with ClusterClient(node.bootstrap) as cluster:
            name = await new_topic(cluster)
            prepared = await prepare(cluster, name, b"a")
            await fence_producer(cluster, name)
            await settled(cluster, name)
            assert await still_open(cluster, [prepared]) == []
            assert await read(cluster, name) == []
            with pytest.raises(BrokerError, match="PRODUCER_FENCED"):
                await end_prepared(cluster, prepared, committed=True)
            unknown = PreparedTransaction("unknown", 1, 0)
            assert await still_open(cluster, [unknown]) == []
            with pytest.raises(BrokerError) as raised:
                await end_prepared(cluster, unknown, committed=True)
            assert raised.value.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING

    run(main())


def test_nothing_written_is_nothing_prepared(node: BrokerProcess) -> None:
    async def main() -> None:
        async with (
            ClusterClient(node.bootstrap) as cluster,
            RecordProducer(
                cluster, transactional_id="idle", transaction_timeout_ms=None
            ) as producer,
        ):
            for _ in range(2):
                transaction = producer.transaction()
                transaction.begin()
                assert await transaction.prepare() is None

    run(main())


def test_brokers_that_do_not_allow_it_say_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with ClusterClient(broker.bootstrap) as cluster:
            with pytest.raises(NotAuthorized, match=r"two\.phase\.commit\.enable=true") as raised:
                await keep_transaction(cluster, "x")
            assert not raised.value.retriable
            with pytest.raises(NotAuthorized, match=r"two\.phase\.commit\.enable=true"):
                await RecordProducer(
                    cluster, transactional_id="x", transaction_timeout_ms=None
                ).start()

    with BrokerProcess(tmp_path, {"transaction.two.phase.commit.enable": "false"}) as broker:
        run(main())


def test_brokers_that_are_too_old_are_told_apart() -> None:
    old = BrokerConnection("old:9092", "test")
    old._versions = {InitProducerIdRequest.API_KEY: (0, 5)}
    with pytest.raises(InvalidArgument, match="too old"):
        check_can_wait(old)
