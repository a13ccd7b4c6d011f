"""Starts a mover for each topic of a client that has delayed records.

Most topics have none: there is no companion then, and no group to join.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.delays.delayed_topic import delayed_topic
from barnabas.client.delays.mover import DelayedMover
from barnabas.errors import BarnabasError
from barnabas.wire.errors import ErrorCode

_LOOK_S = 5.0
_LOOK_DENIED_S = 60.0  # each time is a line in the log of a broker with access rules

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

Start = Callable[[Coroutine[Any, Any, None]], object]


class DelayedMovers:
    """Of one client."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        topics: Iterable[str],
        *,
        client_id: str,
        security: Mapping[str, SecurityValue] | None,
    ) -> None:
        self._missing = {
            delayed_topic(topic): DelayedMover(
                bootstrap_servers, topic, client_id=client_id, security=security
            )
            for topic in dict.fromkeys(topics)
        }
        self._wake = asyncio.Event()

    def look(self) -> None:
        """A companion has been seen: look now."""
        self._wake.set()

    async def run(self, cluster: ClusterClient, start: Start) -> None:
        """Look for companions until all are there; `start` runs what moves their records.

        Brokers that can't be reached are asked again the next time.
        """
        while self._missing:
            pause_s = _LOOK_S
            with suppress(BarnabasError):
                found = await cluster.refresh(self._missing)
                if {each.error_code for each in found.values()} == {_DENIED}:
                    pause_s = _LOOK_DENIED_S
                for name, mover in self._missing.items():
                    if found[name].error_code == _DENIED:
                        await mover.denials.report(cluster)
                for name in [each for each in self._missing if not found[each].error_code]:
                    start(self._missing.pop(name).run())
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            self._wake.clear()
