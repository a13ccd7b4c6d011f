"""Finding the right broker, and telling why it cannot be found."""

import asyncio

import pytest

from barnabas.client.connect import cluster_client as cluster_module
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.errors import (
    AdvertisedAddressUnreachable,
    BrokerError,
    BrokerUnreachable,
    ConnectionLost,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run


def test_a_dead_bootstrap_address_is_passed_over() -> None:
    async def main() -> None:
        async with (
            FakeBroker({"t": 2}) as broker,
            ClusterClient(f"127.0.0.1:1,{broker.bootstrap}") as cluster,
        ):
            assert len((await cluster.topic("t")).partitions) == 2

    run(main())


def test_a_broker_that_hangs_does_not_keep_others_from_answering() -> None:
    async def main() -> None:
        held = []
        deaf = await asyncio.start_server(lambda *streams: held.append(streams), "127.0.0.1")
        host, port = deaf.sockets[0].getsockname()
        began = asyncio.get_running_loop().time()
        async with (
            FakeBroker({"t": 2}) as broker,
            ClusterClient(
                f"{host}:{port},{broker.bootstrap}", connect_timeout_ms=60_000
            ) as cluster,
        ):
            assert len((await cluster.topic("t")).partitions) == 2
        assert held
        assert asyncio.get_running_loop().time() - began < 30
        for _, writer in held:
            writer.close()
        deaf.close()

    run(main())


def test_without_any_broker_all_addresses_are_named() -> None:
    async def main() -> None:
        with pytest.raises(BrokerUnreachable) as caught:
            async with ClusterClient("127.0.0.1:1,127.0.0.1:2"):
                pass
        assert "127.0.0.1:1, 127.0.0.1:2 (connection refused)" in str(caught.value)

    run(main())


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("127.0.0.1", r"says it is at 127.0.0.1:1.*: is node 1 down\? If not, .*--advertise"),
        ("no.such.host.invalid", r"says it is at no.such.host.invalid:1.*\): start it with --adv"),
    ],
)
def test_a_wrong_advertised_listener_is_told_from_a_dead_broker(host: str, said: str) -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            broker.advertised = (host, 1)
            async with ClusterClient(broker.bootstrap) as cluster:
                with pytest.raises(BrokerUnreachable, match=said):
                    await cluster.connection(await cluster.leader(TopicPartition("t", 0)))

    run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid"])
def test_brokers_that_are_never_where_they_say_are_not_tried_for_long(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "_MISLED_S", 0.2)

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            broker.advertised = (host, 1)
            async with ClusterClient(broker.bootstrap) as cluster:

                async def attempt() -> None:
                    await cluster.connection(1)

                with pytest.raises(AdvertisedAddressUnreachable) as caught:
                    await attempt()
                assert caught.value.retriable
                with pytest.raises(AdvertisedAddressUnreachable) as caught:
                    await cluster.retrying(attempt)
                assert not caught.value.retriable

    run(main())


def test_a_broker_that_was_where_it_says_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_MISLED_S", 0.0)

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker:
            other = f"localhost:{broker.port}"  # not the address it advertises
            async with ClusterClient(other) as cluster:
                await cluster.connection(1)
                broker.advertised = ("127.0.0.1", 1)
                await cluster.refresh([])
                with pytest.raises(AdvertisedAddressUnreachable) as caught:
                    await cluster.connection(1)
                assert caught.value.retriable

    run(main())


def test_a_dead_broker_among_others_is_just_that() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:

            def metadata(request: MetadataRequest) -> MetadataResponse:
                answer = broker.metadata(request)
                answer.brokers.append(MetadataResponseBroker(2, "127.0.0.1", 1))
                return answer

            broker.on(MetadataRequest, metadata)
            async with ClusterClient(f"localhost:{broker.port}") as cluster:
                with pytest.raises(BrokerUnreachable) as caught:
                    await cluster.connection(2)
        assert str(caught.value) == (
            "broker 2 at 127.0.0.1:1 cannot be reached (connection refused): is node 2 down? "
            "See `barnabas cluster status`"
        )

    run(main())


def test_an_unknown_topic_is_an_error_at_once_and_is_not_remembered() -> None:
    async def main() -> None:
        async with FakeBroker() as broker, ClusterClient(broker.bootstrap) as cluster:
            with pytest.raises(BrokerError, match="topic t: it does not exist"):
                await cluster.topic("t")
            broker.topics["t"] = 1
            assert len((await cluster.topic("t")).partitions) == 1
            with pytest.raises(BrokerError, match="partition t-1: it does not exist"):
                await cluster.leader(TopicPartition("t", 1))

    run(main())


def test_auto_creation_is_asked_for_and_waited_for() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            asked: list[bool] = []

            def late(request: MetadataRequest) -> object:
                asked.append(request.allow_auto_topic_creation)
                answer = broker.metadata(request)
                if request.topics:
                    broker.topics["t"] = 1
                return answer

            broker.on(MetadataRequest, late)  # type: ignore[arg-type]
            async with ClusterClient(broker.bootstrap) as cluster:
                assert len((await cluster.topic("t", auto_create=True)).partitions) == 1
            assert asked == [False, True, True]

    run(main())


def test_channels_to_one_broker_are_different_connections_and_are_kept() -> None:
    async def main() -> None:
        async with FakeBroker() as broker, ClusterClient(broker.bootstrap) as cluster:
            general = await cluster.connection(1)
            mine = Channel()
            own = await cluster.connection(1, mine)
            assert own is not general
            assert await cluster.connection(1) is general
            assert await cluster.connection(1, mine) is own
            await cluster.close_channel(mine)
            assert own.closed
            assert not general.closed
            await general.close()
            assert await cluster.connection(1) is not general

    run(main())


def test_only_what_may_help_is_tried_again() -> None:
    async def main() -> None:
        async with FakeBroker() as broker, ClusterClient(broker.bootstrap) as cluster:
            outcomes = iter(
                [
                    broker_error(ErrorCode.NOT_LEADER_OR_FOLLOWER, "x"),
                    ConnectionLost("gone"),
                    broker_error(ErrorCode.INVALID_CONFIG, "x"),
                ]
            )

            async def attempt() -> None:
                raise next(outcomes)

            with pytest.raises(BrokerError, match="INVALID_CONFIG"):
                await cluster.retrying(attempt)

    run(main())


def test_trying_again_ends() -> None:
    async def main() -> None:
        async with (
            FakeBroker() as broker,
            ClusterClient(broker.bootstrap, retry_timeout_ms=500) as cluster,
        ):
            attempts = 0

            async def attempt() -> None:
                nonlocal attempts
                attempts += 1
                raise ConnectionLost("gone")

            with pytest.raises(ConnectionLost):
                await cluster.retrying(attempt)
            assert 1 < attempts < 8

    run(main())


def test_a_coordinator_is_looked_up_once_and_again_when_it_moved() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(FindCoordinatorRequest, lambda _: FindCoordinatorResponse(node_id=1))
            async with ClusterClient(broker.bootstrap) as cluster:
                await cluster.coordinator("g")
                await cluster.coordinator("g")
                assert broker.count(FindCoordinatorRequest) == 1
                cluster.forget_coordinator("g")
                await cluster.coordinator("g")
                assert broker.count(FindCoordinatorRequest) == 2

    run(main())
