"""The fetcher of one leader: what it asks for after a partition was followed again."""

import asyncio
from types import SimpleNamespace
from typing import Any

from barnabas.broker.follower.replica_fetcher import FetcherHost, ReplicaFetcher
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from tests.broker.follower.test_follower_log import LED_BY_2, replica


def test_a_late_failure_of_a_former_try_does_not_stop_the_new_one() -> None:
    """The flush that the former try waits for fails after the log was cut and followed again."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[Any] = []

        def call(_leader_id: int, request: Any, *_: Any, **__: Any) -> "asyncio.Future[Any]":
            calls.append(request)
            return loop.create_future()

        peers: Any = SimpleNamespace(loop=loop, clock=Clock(), call=call)
        host = FetcherHost(1, peers, BrokerConfig({}), lambda: 7, lambda _: None, lambda _: None)
        _, partition = replica()
        partition.apply(LED_BY_2)
        fetcher = ReplicaFetcher(2, host)
        fetcher.follow(partition)
        (former,) = fetcher._followed.values()
        fetcher.leave(partition)
        fetcher.follow(partition)
        fetcher._back_off(former)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (request,) = calls
        assert [topic.topic_id for topic in request.topics] == [partition.topic_id]
        await asyncio.wait([fetcher.stop()])

    asyncio.run(main())
