"""The network between simulated machines: TCP as an application sees it, and how it goes wrong.

Bytes of a connection arrive in order and once, or the connection breaks: that much TCP promises, so
that much is simulated. What a protocol without connections would call loss, duplication and
reordering of messages takes these forms:

- *Loss*: what is sent over a cut link, or over a connection that something on the way has
  forgotten, does not arrive. The sender notices nothing until it gives up, or until its kernel does
  (`give_up_us`). If the cut heals before, the bytes arrive then, late.
- *Duplication*: a connection breaks when the request has arrived and the answer has not; the
  client asks again over another connection.
- *Reordering*: connections overtake each other. One that its sender has given up may still deliver
  what was on its way, after what the sender has sent over the next one (`linger`).

Links are one-way: a cut may stop the bytes from A to B and let those from B to A pass.

A killed process' connections are ended by its kernel: the other side reads to the end and sees it.
A machine without power says nothing, and when it is back answers with a reset to hosts that
still send to it.
"""

import asyncio
from collections.abc import Iterable
from errno import ECONNREFUSED, ETIMEDOUT

from barnabas.sim.network.links import Link, Links
from barnabas.sim.network.stream import Stream
from barnabas.sim.process.loop import ProcessLoop, ProtocolFactory
from barnabas.sim.process.simulator import Simulator

_SYN_RETRY_US = 1_000_000


class Listener:
    """A port that a process listens on."""

    def __init__(
        self, network: "Network", process: ProcessLoop, port: int, accept: ProtocolFactory
    ) -> None:
        self._network = network
        self.process = process
        self.port = port
        self.accept = accept

    def close(self) -> None:
        self._network.stop_listening(self)

    async def wait_closed(self) -> None:
        return

    def is_serving(self) -> bool:
        return self._network.listener(self.process.host, self.port) is self


class Network:
    """All links and all connections."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.links = Links(simulator)
        self._listeners: dict[tuple[str, int], Listener] = {}
        self.streams: dict[int, Stream] = {}
        """Both ends of every connection that at least one process still holds."""
        self._numbers = 0

    # -- links -------------------------------------------------------------------------------------

    def cut(self, links: Iterable[Link]) -> frozenset[Link]:
        """Let nothing pass there until `heal` is called with what this returns."""
        return self.links.cut(links)

    def heal(self, cut: frozenset[Link] | None = None) -> None:
        """Undo one cut, or all."""
        self.links.heal(cut)
        self._links_healed()

    def _links_healed(self) -> None:
        for stream in tuple(self.streams.values()):
            stream.link_healed()

    # -- machines and processes --------------------------------------------------------------------

    def process_killed(self, process: ProcessLoop) -> None:
        """The kernel closes what the process has left open."""
        for key in [key for key, one in self._listeners.items() if one.process is process]:
            del self._listeners[key]
        for stream in tuple(self.streams.values()):
            if stream.process is process:
                stream.process_died()

    def power_lost(self, host: str) -> None:
        """No other host is notified."""
        self.links.without_power.add(host)
        for key in [key for key in self._listeners if key[0] == host]:
            del self._listeners[key]
        for number, stream in tuple(self.streams.items()):
            if stream.process.host == host:
                stream.vanish()
                del self.streams[number]

    def power_restored(self, host: str) -> None:
        self.links.without_power.discard(host)
        self._links_healed()

    # -- connections -------------------------------------------------------------------------------

    def listen(self, process: ProcessLoop, port: int, accept: ProtocolFactory) -> Listener:
        listener = Listener(self, process, port, accept)
        assert (process.host, port) not in self._listeners, f"{process.host}:{port} is taken"
        self._listeners[process.host, port] = listener
        return listener

    def listener(self, host: str, port: int) -> Listener | None:
        return self._listeners.get((host, port))

    def stop_listening(self, listener: Listener) -> None:
        if self.listener(listener.process.host, listener.port) is listener:
            del self._listeners[listener.process.host, listener.port]

    async def connect(
        self, process: ProcessLoop, host: str, port: int, factory: ProtocolFactory
    ) -> tuple[Stream, asyncio.BaseProtocol]:
        """The caller's end of a new connection, or the OSError that connect() would raise."""
        stream = await self._open(process, host, port)
        protocol = factory()
        stream.begin(protocol)
        return stream, protocol

    async def _open(self, process: ProcessLoop, host: str, port: int) -> Stream:
        opened: asyncio.Future[Stream] = process.create_future()
        started_us = self.simulator.now_us

        def fail(code: int, text: str) -> None:
            if process.is_alive and not opened.done():
                opened.set_exception(OSError(code, f"{text}: {host}:{port}"))

        def knock() -> None:
            if not process.is_alive or opened.done():
                return
            if not self.links.passes(process.host, host):
                if self.simulator.now_us - started_us > self.links.give_up_us:
                    process.call_soon(fail, ETIMEDOUT, "Connect timed out")
                else:
                    self.simulator.after(_SYN_RETRY_US, knock)
                return
            self.simulator.after(self.links.delay_us(process.host, host), arrive)

        def arrive() -> None:
            listener = self.listener(host, port)
            if not self.links.passes(host, process.host):
                self.simulator.after(_SYN_RETRY_US, knock)  # the answer is lost
                return
            delay_us = self.links.delay_us(host, process.host)
            if listener is None:
                self.simulator.after(
                    delay_us, lambda: process.call_soon(fail, ECONNREFUSED, "Connection refused")
                )
                return
            here, there = self._pair(process, listener, port)
            there.accepted(listener.accept)
            self.simulator.after(delay_us, lambda: answered(here))

        def answered(here: Stream) -> None:
            if process.is_alive and not opened.done():
                process.call_soon(
                    lambda: here.abort() if opened.done() else opened.set_result(here)
                )
            else:
                here.abort()

        knock()
        return await opened

    def _pair(self, process: ProcessLoop, listener: Listener, port: int) -> tuple[Stream, Stream]:
        self._numbers += 2
        near, far = (process.host, 30_000 + self._numbers), (listener.process.host, port)
        here = Stream(self.links, self.streams, process, self._numbers, near, far)
        there = Stream(self.links, self.streams, listener.process, self._numbers + 1, far, near)
        here.peer, there.peer = there, here
        self.streams[here.number] = here
        self.streams[there.number] = there
        return here, there

    def between(self, hosts: Iterable[str]) -> list[Stream]:
        """The connecting ends of all connections among `hosts`, for faults to choose from."""
        names = set(hosts)
        return [
            stream
            for stream in self.streams.values()
            if stream.number % 2 == 0
            and stream.process.host in names
            and stream.peer.process.host in names
        ]
