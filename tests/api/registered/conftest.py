"""A registry on the broker that all tests share; each uses topics of its own."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import barnabas
from tests.registry.registry_process import RegistryProcess, registries


@pytest.fixture(scope="session")
def registry(
    broker_of_groups: barnabas.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RegistryProcess]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with registries(folder, broker_of_groups.bootstrap_servers) as make:
        yield make()


@pytest.fixture
def topic(broker_of_groups: barnabas.Cluster) -> str:
    name = f"t-{uuid4().hex[:10]}"
    broker_of_groups.create_topic(name, partitions=1)
    return name
