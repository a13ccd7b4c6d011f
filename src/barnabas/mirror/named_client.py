"""A client whose errors and warnings say which cluster they are about: a flow has two."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata
from barnabas.client.connect.connection_pool import GENERAL, Channel
from barnabas.client.connect.retry_log import RetryLog
from barnabas.client.connect.security_settings import SecuritySettings
from barnabas.errors import BarnabasError

T = TypeVar("T")


class NamedClusterClient(ClusterClient):
    """For one event loop; use it as an async context manager."""

    def __init__(
        self, name: str, bootstrap: str, *, client_id: str, security: SecuritySettings
    ) -> None:
        super().__init__(
            bootstrap, client_id=client_id, security=security, on_retry=RetryLog(cluster=name)
        )
        self._name = name

    async def refresh(
        self, topics: Iterable[str] | None, *, auto_create: bool = False
    ) -> dict[str, TopicMetadata]:
        with self._named():
            return await super().refresh(topics, auto_create=auto_create)

    async def topics(self, names: Iterable[str]) -> dict[str, TopicMetadata]:
        with self._named():
            return await super().topics(list(names))

    async def connection(self, node_id: int, channel: Channel = GENERAL) -> BrokerConnection:
        with self._named():
            return await super().connection(node_id, channel)

    async def any_connection(self) -> BrokerConnection:
        with self._named():
            return await super().any_connection()

    async def retrying(
        self, attempt: Callable[[], Awaitable[T]], *, topics: Iterable[str] = ()
    ) -> T:
        with self._named():
            return await super().retrying(attempt, topics=topics)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BarnabasError as error:
            error.cluster = error.cluster or self._name
            raise


def said_in(cluster: str, error: BarnabasError) -> str:
    """What an error says, where the name of its cluster is said already."""
    return str(error).removeprefix(f"cluster {cluster}: ")
