"""A broker that all attacks share."""

from collections.abc import Iterator

import pytest

from tests.conftest import ELSEWHERE
from tests.foreign_clients.confluent import Confluent
from tests.support.broker import BrokerProcess


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    if ELSEWHERE:
        pytest.skip("needs a broker of its own")
    with BrokerProcess(tmp_path_factory.mktemp("fuzz")) as process:
        with Confluent().admin(process.bootstrap) as admin:
            admin.create_topic("fuzz", 2)
            admin.create_topic("work")
        yield process
        process.stop()
