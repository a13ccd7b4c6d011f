"""One Spark session for all tests of a worker, and topics of each test's own.

`tests/support/groups.py` deals the files whose tests use the session out to few workers.
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
from tests.changes.mysql.conftest import LOGGED
from tests.spark.fate import World
from tests.support.mariadb import MariaDb
from tests.support.postgres import Postgres

Read = Callable[..., DataFrame]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = quick_session()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    server = Postgres(wal_level="logical")
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server: Postgres) -> Iterator[str]:
    """The address of a database of the test's own."""
    name = f"db_{secrets.token_hex(4)}"
    with postgres_server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"postgresql://postgres@/{name}?host={postgres_server.folder}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    server = MariaDb(*LOGGED)
    yield server
    server.close()


@pytest.fixture
def mariadb(mariadb_server: MariaDb) -> MariaDb:
    """With nothing in its database `shop`."""
    mariadb_server.execute("DROP DATABASE shop")
    mariadb_server.execute("CREATE DATABASE shop")
    return mariadb_server


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
