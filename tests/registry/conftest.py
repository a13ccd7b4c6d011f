"""Instances of the registry on a broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.registry.registry_process import MakeRegistry, RegistryProcess, registries
from tests.support.broker import BrokerProcess


@pytest.fixture
def make_registry(broker: BrokerProcess, tmp_path: Path) -> Iterator[MakeRegistry]:
    with registries(tmp_path, broker.bootstrap) as make:
        yield make


@pytest.fixture
def registry(make_registry: MakeRegistry) -> RegistryProcess:
    return make_registry()
