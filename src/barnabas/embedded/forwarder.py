"""The network of a cluster under test: all that reaches a node comes through here, or does not.

    clients, other nodes  ->  front of node 1  ->  node 1        one front per node

Nodes are distinguished by the client id of their first request. A link joins two nodes, or a node
and the clients (number 0). A link that is cut carries nothing in either direction, and neither side
is notified, as with a cable that is pulled out: what is open stays open and silent, and goes on
when the link is healed; what is opened meanwhile is not answered, and reset when the link is
healed, so that a packet which could not have got through does not come late.

It runs in a process of its own. A socket brings the links that are cut, [[1, 2], [0, 1]], one list
a line, and each is answered with a line when it is in force.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import uvloop

from barnabas.broker.net.peers import claims_to_be_peer
from barnabas.embedded.network import CLIENTS, Link
from barnabas.embedded.ports import HOST

_HEADER = struct.Struct(">ihhih")
"""Size of the frame, API key, version, correlation id, length of the client id."""


class Forwarder:
    """Which links are cut, and the connections that go over them."""

    def __init__(self) -> None:
        self.cuts: frozenset[Link] = frozenset()
        self.connections: set[_Passage] = set()

    def cut(self, cuts: frozenset[Link]) -> None:
        self.cuts = cuts
        for connection in list(self.connections):
            connection.follow_cuts()


class _End(asyncio.Protocol):
    """One of the two sockets of a passage."""

    def __init__(self, passage: "_Passage") -> None:
        self._passage = passage
        self._transport: asyncio.Transport | None = None
        self.is_full = False
        """Whether it accepts nothing for now, because the other side does not read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._passage.opened(self)

    def data_received(self, data: bytes) -> None:
        self._passage.received(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._passage.lost()

    def pause_writing(self) -> None:
        self.is_full = True
        self._passage.regulate()

    def resume_writing(self) -> None:
        self.is_full = False
        self._passage.regulate()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def read(self, *, wanted: bool) -> None:
        transport = self._transport
        if transport is None or transport.is_closing() or transport.is_reading() == wanted:
            return
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def close(self) -> None:
        """What was written is still sent."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _Passage:
    """A connection to a node, by way of its front."""

    def __init__(self, forwarder: Forwarder, node_id: int, port: int) -> None:
        self._forwarder = forwarder
        self._node_id = node_id
        self._port = port
        self._link: Link | None = None
        self._first = b""
        self._is_late = False
        """Whether it was opened while its link was cut."""
        self._is_lost = False
        self._connecting: asyncio.Task[None] | None = None
        self.front = _End(self)
        self.back = _End(self)

    @property
    def _is_cut(self) -> bool:
        return self._link in self._forwarder.cuts

    def follow_cuts(self) -> None:
        if self._is_late and not self._is_cut:
            self.front.reset()
        elif self._is_lost and not self._is_cut:
            self._close()
        else:
            self.regulate()

    def regulate(self) -> None:
        """Read only where the data can be forwarded: nothing else is buffered here."""
        through = not self._is_cut
        self.front.read(wanted=through and not self.back.is_full)
        self.back.read(wanted=through and not self.front.is_full)

    # -- called by the two ends ------------------------------------------------------------------

    def opened(self, end: _End) -> None:
        if self._is_lost:  # while the other end was being opened
            end.close()
            return
        self._forwarder.connections.add(self)
        if end is self.back:
            end.write(self._first)
            self._first = b""
            self.regulate()

    def received(self, end: _End, data: bytes) -> None:
        if end is self.back:
            self.front.write(data)
        elif self._link is not None and not self._first:
            self.back.write(data)
        else:
            self._first += data
            if self._link is None:
                self._find_link()

    def lost(self) -> None:
        self._is_lost = True
        if not self._is_cut or self._is_late:
            self._close()

    # -- the rest --------------------------------------------------------------------------------

    def _find_link(self) -> None:
        sender = sender_of(self._first)
        if sender is None:
            return
        self._link = frozenset((sender, self._node_id))
        if self._is_cut:
            self._is_late = True
            self.regulate()
        else:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: self.back, HOST, self._port)
        except OSError:  # the node is down
            self.front.reset()

    def _close(self) -> None:
        self._forwarder.connections.discard(self)
        self.front.close()
        self.back.close()


def sender_of(first: bytes) -> int | None:
    """The number of the node that sends this, `CLIENTS` if it is none, None if more must come."""
    if len(first) < _HEADER.size:
        return None
    length = _HEADER.unpack_from(first)[-1]
    if length <= 0:
        return CLIENTS
    name = first[_HEADER.size : _HEADER.size + length]
    if len(name) < length:
        return None
    client_id = name.decode(errors="replace")
    number = client_id.rpartition("-")[2]
    return int(number) if claims_to_be_peer(client_id) and number.isdecimal() else CLIENTS


async def _run(control: socket.socket, fronts: Sequence[tuple[int, int, int]]) -> None:
    forwarder = Forwarder()
    loop = asyncio.get_running_loop()
    for node_id, front_port, port in fronts:

        def passage(node_id: int = node_id, port: int = port) -> _End:
            return _Passage(forwarder, node_id, port).front

        await loop.create_server(passage, HOST, front_port, reuse_address=True)
    reader, writer = await asyncio.open_connection(sock=control)
    writer.write(b"ready\n")
    with suppress(ConnectionError):
        while line := await reader.readline():
            forwarder.cut(frozenset(frozenset(link) for link in json.loads(line)))
            writer.write(b"done\n")


def main(control: int, fronts: Sequence[tuple[int, int, int]]) -> int:
    """`fronts`: for each node its number, the port of its front, and its own port."""
    uvloop.run(_run(socket.socket(fileno=control), fronts))
    return 0
