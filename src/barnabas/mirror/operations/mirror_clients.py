"""Both clusters of a flow, of which the source may be gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError, BrokerUnreachable
from barnabas.mirror.flow import Flow


class MirrorClients(NamedTuple):
    """Connections; `source` is None if no broker of it answers."""

    source: ClusterClient | None
    target: ClusterClient
    problem: str = ""
    """Why there is no source."""

    def required_source(self) -> ClusterClient:
        """Raises `BrokerUnreachable` if there is none."""
        if self.source is None:
            raise BrokerUnreachable(self.problem)
        return self.source


@asynccontextmanager
async def connect(flow: Flow, patience_s: float | None = None) -> AsyncIterator[MirrorClients]:
    """Raises if the target does not answer. The source is waited for no longer than said."""
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(flow.target.client())
        try:
            async with asyncio.timeout(patience_s):
                source = await stack.enter_async_context(flow.source.client())
        except TimeoutError:
            yield MirrorClients(None, target, f"no answer from {flow.source.name}")
        except BarnabasError as error:
            if not error.retriable:
                raise
            yield MirrorClients(None, target, str(error))
        else:
            yield MirrorClients(source, target)
