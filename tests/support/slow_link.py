"""A link with a delay and a bandwidth, between clients of one event loop and the brokers they use.

    client -> [link: each byte comes `delay_s` later, all share the bandwidth] -> broker

A piece that gets lost takes its part of the bandwidth twice, and comes two delays later, with all
that follows it in its connection.

Clients use it by the way they open connections (`environment`), so brokers need not know of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.environment import ClientEnvironment

_HOST = "127.0.0.1"
_PIECE = 16 * 1024


class SlowLink:
    """Counts what is carried, and what is under way, from clients to brokers."""

    def __init__(self, delay_s: float, bytes_per_second: float, loss: float = 0.0) -> None:
        self._delay_s = delay_s
        self._rate = bytes_per_second
        self._free_at = 0.0
        self._loss = loss
        self._random = Random(17)
        self.carried = 0
        self.under_way = 0
        self.most_under_way = 0
        self._open: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._servers: dict[tuple[str, int], asyncio.Server] = {}

    @property
    def environment(self) -> ClientEnvironment:
        """For clients whose traffic goes over this link."""
        return ClientEnvironment(connect=self._connect)

    def break_connections(self) -> None:
        """Reset all, with what is under way: a link that loses too much."""
        broken, self._open = self._open, []
        for ends in broken:
            for each in ends:
                each.transport.abort()

    async def close(self) -> None:
        self.break_connections()
        for each in self._servers.values():
            each.close()
            await each.wait_closed()

    async def _connect(
        self, host: str, port: int, *, client_id: str, timeout_ms: int
    ) -> BrokerConnection:
        if (host, port) not in self._servers:
            self._servers[host, port] = await asyncio.start_server(
                lambda reader, writer: self._carry(host, port, reader, writer), _HOST, 0
            )
        front = self._servers[host, port].sockets[0].getsockname()[1]
        return await BrokerConnection.open(_HOST, front, client_id=client_id, timeout_ms=timeout_ms)

    async def _carry(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        from_broker, to_broker = await asyncio.open_connection(host, port)
        self._open.append((writer, to_broker))
        await asyncio.gather(
            self._pass_on(reader, to_broker, counts=True),
            self._pass_on(from_broker, writer, counts=False),
        )

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        arriving: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivery = asyncio.create_task(self._deliver(arriving, writer, counts=counts))
        with suppress(OSError):
            while data := await reader.read(_PIECE):
                times = 2 if self._random.random() < self._loss else 1
                self._free_at = max(self._free_at, loop.time()) + times * len(data) / self._rate
                if counts:
                    self.carried += len(data)
                    self.under_way += len(data)
                    self.most_under_way = max(self.most_under_way, self.under_way)
                arrives_at = self._free_at + (2 * times - 1) * self._delay_s
                arriving.put_nowait((arrives_at, data))
                await asyncio.sleep(self._free_at - loop.time())
        arriving.put_nowait((loop.time() + self._delay_s, b""))
        await delivery

    async def _deliver(
        self,
        arriving: asyncio.Queue[tuple[float, bytes]],
        writer: asyncio.StreamWriter,
        *,
        counts: bool,
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            at, data = await arriving.get()
            await asyncio.sleep(at - loop.time())
            if counts:
                self.under_way -= len(data)
            if not data:
                writer.close()
                return
            writer.write(data)
            with suppress(OSError):
                await writer.drain()


@asynccontextmanager
async def slow_link(
    delay_s: float, bytes_per_second: float, loss: float = 0.0
) -> AsyncIterator[SlowLink]:
    link = SlowLink(delay_s, bytes_per_second, loss)
    try:
        yield link
    finally:
        await link.close()
