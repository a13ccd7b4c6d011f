"""Requests for the same connector at the same time, and those of an instance that is fenced."""

import asyncio
from pathlib import Path

from barnabas.aio.producer import Producer
from tests.connect.api_instance import api_instance
from tests.support.broker import BrokerProcess

CONFIG = {"connector.class": "to_topic", "topics": "words", "topic": "loud"}
CREATE = {"name": "loud", "config": CONFIG, "initial_state": "STOPPED"}


def test_one_of_two_creates_and_no_change_is_lost(broker: BrokerProcess, tmp_path: Path) -> None:
    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            created = [instance.call("POST", "/connectors", CREATE) for _ in range(4)]
            statuses = [status for status, _ in await asyncio.gather(*created)]
            assert sorted(statuses) == [201, 409, 409, 409]
            changes = ({"tasks.max": "1"}, {"restarts.max": "3"}, {"trigger": "5 seconds"})
            path = "/connectors/loud/config"
            found = await asyncio.gather(*(instance.call("PATCH", path, each) for each in changes))
            assert {status for status, _ in found} == {200}
            _, config = await instance.call("GET", path)
            wanted = {name: value for each in changes for name, value in each.items()}
            assert config == {"name": "loud", **CONFIG, **wanted}

    asyncio.run(run())


def test_a_fenced_leader_sends_the_client_away(broker: BrokerProcess, tmp_path: Path) -> None:
    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await instance.hang()
            async with Producer(broker.bootstrap, transactional_id="connect-leader"):
                assert instance.context.leadership.is_leader  # or so it believes
                status, said = await instance.call("POST", "/connectors", CREATE)
            assert (status, "no known leader" in said) == (409, True), said

    asyncio.run(run())
