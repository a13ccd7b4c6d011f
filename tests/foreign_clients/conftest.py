"""Fixtures of the client scenarios: the library, and topics of the test's own."""

from collections.abc import Callable, Generator, Iterator
from itertools import count
from uuid import uuid4

import pytest

from tests.foreign_clients.aio import AioKafka
from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.face import Admin, Client, NotOffered
from tests.foreign_clients.kafka_python import KafkaPython
from tests.support.wait import wait_until

CLIENTS: list[Client] = [Confluent(), KafkaPython(), AioKafka()]

NewTopic = Callable[..., str]


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """The scenario runs once for each library."""
    found: Client = request.param
    return found


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"t-{uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def creator(bootstrap: str) -> Iterator[Admin]:
    with Confluent().admin(bootstrap) as admin:
        yield admin


@pytest.fixture
def new_topic(creator: Admin, name: str) -> NewTopic:
    """Creates a topic on the shared broker and returns its name."""
    numbers = count()

    def create(partitions: int = 1, **configs: str) -> str:
        topic = f"{name}-{next(numbers)}"
        creator.create_topic(
            topic, partitions, {key.replace("_", "."): value for key, value in configs.items()}
        )
        wait_until(lambda: topic in creator.topics(), "the topic is not listed")
        return topic

    return create


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """What a library doesn't offer is skipped, not failed."""
    try:
        return (yield)
    except NotOffered as missing:
        pytest.skip(f"this library does not offer: {missing}")
