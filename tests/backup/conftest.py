"""A cluster to back up, for all tests, which have topics of their own; and empty ones."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from tests.backup.support import Source


@pytest.fixture(scope="session")
def source_cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(settings={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster


@pytest.fixture
def source(source_cluster: barnabas.Cluster, tmp_path: Path) -> Source:
    """Topics and groups whose names begin with a prefix of this test."""
    return Source(
        source_cluster.bootstrap_servers, f"t{secrets.token_hex(4)}", str(tmp_path / "backup")
    )


@pytest.fixture
def target() -> Iterator[str]:
    """An empty cluster."""
    with barnabas.Cluster(settings={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture(scope="session")
def origin() -> Iterator[str]:
    """Another cluster, from which mirrors copy to the one that is backed up."""
    with barnabas.Cluster(settings={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster.bootstrap_servers
