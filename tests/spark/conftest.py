"""One Spark session for all, and topics of each test's own.

Tests with Spark are in two groups of pytest-xdist, so that two workers share them: `spark`, most of
which use the one session, and `spark-processes`, which start pipelines in processes of their own.
"""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.spark.cluster import connection
from barnabas.spark.testing import quick_session
from tests.spark.fate import World

Read = Callable[..., DataFrame]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = quick_session()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def close_connections() -> Iterator[None]:
    """Connections are for the life of a worker of Spark; this process has other tests to run."""
    yield
    while connection._connections:
        connection._connections.popitem()[1].close()


@pytest.fixture
def admin(bootstrap: str) -> Iterator[barnabas.Admin]:
    with barnabas.Admin(bootstrap) as admin:
        yield admin


@pytest.fixture
def producer(bootstrap: str) -> Iterator[barnabas.Producer]:
    with barnabas.Producer(bootstrap) as producer:
        yield producer


@pytest.fixture
def make_topic(admin: barnabas.Admin) -> Callable[..., str]:
    def make(partitions: int = 3, prefix: str = "spark") -> str:
        name = f"{prefix}-{secrets.token_hex(4)}"
        admin.create_topic(name, partitions=partitions)
        return name

    return make


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    return make_topic()


@pytest.fixture
def read(spark: SparkSession, bootstrap: str) -> Read:
    """A batch read with these options."""

    def load(schema: str | None = None, **options: str) -> DataFrame:
        reader = spark.read.format("barnabas").option("kafka.bootstrap.servers", bootstrap)
        if schema is not None:
            reader = reader.schema(schema)
        return reader.options(**options).load()

    return load


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    send = BrokerConnection.send

    async def fateful(self: BrokerConnection, *args: Any, **kwargs: Any) -> Any:
        fate = world.fates.get(self._client_id)
        if fate is None:
            return await send(self, *args, **kwargs)
        return await fate.befalls(lambda: send(self, *args, **kwargs))

    monkeypatch.setattr(BrokerConnection, "send", fateful)
    return world
