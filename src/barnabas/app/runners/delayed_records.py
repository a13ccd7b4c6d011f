"""Records for later: moved by the application while it runs, and sent by `app.send(delay=)`."""

from collections.abc import Iterable, Mapping, Sequence

from barnabas.aio.waiting import Client
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.delays.delayed_core import DelayedCore
from barnabas.client.producer.sent_record import Delivery
from barnabas.records.record import Header


class DelayedRecords(Client):
    """Of one application: of the topics that its handlers read."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        topics: Iterable[str],
        *,
        client_id: str,
        security: Mapping[str, SecurityValue] | None,
    ) -> None:
        self._core = DelayedCore(bootstrap_servers, topics, client_id=client_id, security=security)
        super().__init__(self._core)

    async def start(self) -> None:
        await self._wait(self._core.start())

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        due_ms: int,
    ) -> Delivery:
        return await self._wait(self._core.send(topic, value, key, headers, due_ms))
