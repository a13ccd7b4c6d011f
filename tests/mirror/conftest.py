"""Two clusters, for all tests of mirrors that need them; each test has topics of its own."""

import secrets
from collections.abc import Iterator

import pytest

import barnabas
from barnabas.mirror.flow import ClusterEnd


@pytest.fixture(scope="session")
def clusters() -> Iterator[tuple[barnabas.Cluster, barnabas.Cluster]]:
    settings = {"auto.create.topics.enable": "false"}
    with (
        barnabas.Cluster(settings=settings) as one,
        barnabas.Cluster(settings=settings) as other,
    ):
        yield one, other


@pytest.fixture
def ends(clusters: tuple[barnabas.Cluster, barnabas.Cluster]) -> tuple[ClusterEnd, ClusterEnd]:
    """Clusters A and B, under names that no other test has: positions are kept by name."""
    unique = secrets.token_hex(3)
    one, other = clusters
    return (
        ClusterEnd(f"A{unique}", one.bootstrap_servers),
        ClusterEnd(f"B{unique}", other.bootstrap_servers),
    )


@pytest.fixture
def topic() -> str:
    return f"orders-{secrets.token_hex(4)}"
