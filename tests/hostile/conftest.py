"""What attackers need."""

import resource

import pytest


@pytest.fixture(scope="session")
def open_files() -> None:
    """As many sockets as the system lets a process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
