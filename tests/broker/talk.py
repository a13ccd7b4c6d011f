"""A connection between a transport that notes everything and a dispatcher under control."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

from barnabas.broker.net.connection import MAX_PARKED_BYTES, Connection
from barnabas.broker.net.foreign_protocol import ForeignClients
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.refused_connections import RefusedConnections
from barnabas.wire.primitives import WireError
from tests.client.virtual_time import VirtualTimeLoop

LARGE = bytes(MAX_PARKED_BYTES // 4)

PRODUCE, METADATA = 0, 3


def request(says: bytes, api_key: int = PRODUCE, client_id: bytes = b"c") -> bytes:
    """A frame with a header, which asks for `says`."""
    return struct.pack(">hhih", api_key, 9, 7, len(client_id)) + client_id + b"|" + says


class Transport:
    """Notes what a connection does to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.reading = True
        self.closed = False
        self.takes = True
        """Whether the client reads; if not, `on_full` is called."""
        self.on_full: Callable[[], None] = lambda: None

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return {"peername": ("10.0.0.1", 5), "sockname": ("10.0.0.2", 9)}[name]

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(bytes(data))
        if not self.takes:
            self.on_full()

    def writelines(self, buffers: list[bytes]) -> None:
        self.write(b"".join(buffers))

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def close(self) -> None:
        self.closed = True

    abort = close


class ConnectionCount:
    """Admits every connection."""

    max_request_bytes = 1000

    def __init__(self) -> None:
        self.inside: set[Connection] = set()
        self.arriving = HeldMemory("", "", self.now)
        self.unread = HeldMemory("", "", self.now)
        self.foreign = ForeignClients()
        self.refused = RefusedConnections(self.now)
        self.arriving.max_bytes = self.unread.max_bytes = 1 << 40

    def now(self) -> float:
        return 0.0

    def enter(self, connection: Connection) -> str | None:
        self.inside.add(connection)
        return None

    def leave(self, connection: Connection) -> None:
        self.inside.remove(connection)


class Talk:
    """A connection whose frames are answered with themselves, or later when they begin with `?`.

    `?hold` also holds the connection. With a header in front, what is behind it counts.
    """

    def __init__(self) -> None:
        self.loop = VirtualTimeLoop()
        self.connections = ConnectionCount()
        self.transport = Transport()
        self.handled: list[bytes] = []
        self.parked: list[asyncio.Future[Any]] = []
        self.connection = Connection(self._dispatch, self.connections)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        self.transport.on_full = self.connection.pause_writing

    def _dispatch(self, frame: memoryview, _: Connection) -> Any:
        data = bytes(frame).rpartition(b"|")[2]
        self.handled.append(data)
        if data == b"!":
            raise WireError("bad")
        if data == b"0":
            return None
        if data == b"L":
            return [LARGE]
        if not data.startswith(b"?"):
            return [data]
        future = self.loop.create_future()
        self.parked.append(future)
        if data == b"?hold":
            self.connection.hold()
        return future

    def send(self, *frames: bytes) -> None:
        self.receive(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))

    def receive(self, data: bytes) -> None:
        while data:
            room = self.connection.get_buffer(-1)
            size = min(len(room), len(data))
            room[:size] = data[:size]
            self.connection.buffer_updated(size)
            data = data[size:]

    def answer(self, number: int, data: bytes) -> None:
        self.parked[number].set_result([data])
        self.turn()

    def mute(self, throttle_ms: int) -> None:
        self.connection.mute(throttle_ms, lambda: int(self.loop.time() * 1_000))

    def turn(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))

    @property
    def said(self) -> bytes:
        return b"".join(self.transport.written)
