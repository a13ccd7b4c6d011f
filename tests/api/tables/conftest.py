"""Both faces of the clients, and topics, for the tests of tables."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest

import barnabas
from tests.api.tables.clients import PARTITIONS, Clients, MakeTopic


@pytest.fixture(params=["blocking", "asyncio"])
def face(request: pytest.FixtureRequest, bootstrap: str) -> Iterator[Clients]:
    if request.param == "blocking":
        yield Clients(bootstrap, None)
        return
    loop = asyncio.new_event_loop()
    yield Clients(bootstrap, loop)
    loop.close()


@pytest.fixture
def make_topic(bootstrap: str) -> MakeTopic:
    def make(partitions: int = PARTITIONS, **configs: str) -> str:
        name = f"tables-{uuid4().hex[:12]}"
        with barnabas.Admin(bootstrap) as admin:
            admin.create_topic(name, partitions=partitions, configs=configs)
        return name

    return make
