"""What `cluster status --wait` does not wait for."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from barnabas.cli.cluster.status_wait import wait_until_healthy
from barnabas.errors import BarnabasError, NobodyListens, SignInFailed


class RefusingSession:
    def __init__(self, *errors: BarnabasError) -> None:
        self.errors = list(errors)

    @asynccontextmanager
    async def connect(self, **_: Any) -> Any:
        raise self.errors.pop(0)
        yield


def test_a_wrong_password_is_told_at_once() -> None:
    session: Any = RefusingSession(
        NobodyListens("not yet"), SignInFailed("wrong password"), SignInFailed("again")
    )
    with pytest.raises(SignInFailed, match="wrong password"):
        asyncio.run(wait_until_healthy(session, 600))
