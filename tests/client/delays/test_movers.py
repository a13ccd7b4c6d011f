"""How often a client looks for a topic of delayed records that most topics don't have."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.delays.movers import DelayedMovers
from barnabas.errors import NotAuthorized
from barnabas.wire.errors import ErrorCode
from tests.client.virtual_time import now, run


class AskedCluster:
    """Answers each question for topics with the same error."""

    def __init__(self, error: ErrorCode) -> None:
        self.error = error
        self.asked_at: list[float] = []

    async def refresh(self, names: Iterable[str]) -> dict[str, SimpleNamespace]:
        self.asked_at.append(now())
        return {name: SimpleNamespace(error_code=self.error) for name in names}

    async def retrying(self, _attempt: object) -> None:
        raise NotAuthorized(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not even asked")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [0, 5, 10, 15]),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [0]),
    ],
)
def test_a_denied_topic_is_asked_for_seldom(error: ErrorCode, expected: list[float]) -> None:
    cluster = AskedCluster(error)

    async def look() -> None:
        movers = DelayedMovers(
            "127.0.0.1:9092", ["orders", "payments"], client_id="test", security=None
        )
        started: list[Any] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(19):
                await movers.run(cast("ClusterClient", cluster), started.append)
        assert started == []

    run(look())
    assert cluster.asked_at == pytest.approx(expected)
