"""One process per worker that has imported the simulator."""

from collections.abc import Iterator

import pytest

from tests.sim.fork_server import ForkServer


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server
