"""A broker for the services; each test has topics of its own, under the names that services use."""

import os
from collections.abc import Iterator

import pytest

import barnabas

os.environ.setdefault("WEBHOOK_SECRET", "s3cret")  # asked for when the service is imported


@pytest.fixture(scope="session")
def broker() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster() as cluster:
        yield cluster


@pytest.fixture
def servers(broker: barnabas.Cluster) -> str:
    return broker.bootstrap_servers
