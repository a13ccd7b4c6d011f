"""One user's way to the cluster: its connections, and what is watched on its behalf."""

from collections.abc import Mapping

from barnabas.aio import Producer
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.console.watch.watch import Watch
from barnabas.dead_letters.letters import LetterCluster
from barnabas.errors import BarnabasError, SignInFailed

CLIENT_ID = "barnabas-console"
_CONNECT_MS = 3_000
_REQUEST_MS = 10_000
_RETRY_MS = 5_000
_DELIVERY_MS = 20_000
_BATCH_BYTES = 16 * 1024
"""Short: a page says what does not work instead of waiting for it."""


class UserCluster:
    """Connections are made when they are needed."""

    def __init__(self, bootstrap: str, security: Mapping[str, SecurityValue]) -> None:
        """Raises `InvalidArgument`."""
        self._bootstrap = bootstrap
        self._security = dict(security)
        self.client = self._client()
        self._watching = self._client()
        """Of its own: a page does not wait behind questions about ten thousand topics."""
        self.records = Channel()
        """Answers with records are large: questions do not wait behind them."""
        self.searches = 0
        """How many are running."""
        self.watch = Watch(self._watching)
        self._producer: Producer | None = None

    def _client(self) -> ClusterClient:
        return ClusterClient(
            self._bootstrap,
            client_id=CLIENT_ID,
            connect_timeout_ms=_CONNECT_MS,
            request_timeout_ms=_REQUEST_MS,
            retry_timeout_ms=_RETRY_MS,
            security=security_settings(self._security),
        )

    async def ready(self) -> None:
        """Know the brokers. Raises `BrokerUnreachable`."""
        if not self.client.brokers:
            await self.client.refresh([])

    async def is_signed_in(self) -> bool:
        """Whether the cluster still takes the user's credentials: open connections do not tell.

        One that does not answer says nothing about them.
        """
        client = self._client()
        try:
            await client.refresh([])
        except SignInFailed:
            return False
        except BarnabasError:
            return True
        finally:
            await client.close()
        return True

    def producer(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(
                self._bootstrap,
                client_id=CLIENT_ID,
                security=self._security,
                auto_create=False,
                delivery_timeout_ms=_DELIVERY_MS,
                request_timeout_ms=_REQUEST_MS,
                batch_bytes=_BATCH_BYTES,
            )
        return self._producer

    def letters(self) -> LetterCluster:
        """For dead letters."""
        return LetterCluster(self._bootstrap, self._security, CLIENT_ID)

    async def close(self) -> None:
        await self.watch.close()
        if self._producer is not None:
            await self._producer.close()
        await self.client.close()
        await self._watching.close()
