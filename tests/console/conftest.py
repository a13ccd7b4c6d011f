"""A cluster, a console and a browser, each once for a module."""

from collections.abc import Iterator

import pytest

import barnabas
from tests.console.console_process import ConsoleProcess


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(nodes=3, settings={"num.partitions": 3}) as running:
        yield running


@pytest.fixture(scope="module")
def console(
    cluster: barnabas.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    log = tmp_path_factory.mktemp("console") / "console.log"
    with ConsoleProcess(cluster.bootstrap_servers, log) as running:
        yield running
