"""One end of a simulated connection: the transport that a protocol is given."""

import asyncio
from collections import deque
from collections.abc import Callable
from errno import ECONNRESET, ETIMEDOUT
from typing import Any
from zlib import crc32

from barnabas.sim.network.links import Links
from barnabas.sim.process.loop import ProcessLoop

_END = b""
"""The last thing that comes over a connection that was closed."""
_RETRANSMIT_US = (1_000, 400_000)
_HIGH_WATER = 64 * 1024


class Stream(asyncio.Transport):
    """Writes go to `peer`; what arrives from there is given to the protocol."""

    peer: "Stream"

    def __init__(
        self,
        links: Links,
        streams: dict[int, "Stream"],
        process: ProcessLoop,
        number: int,
        local: tuple[str, int],
        remote: tuple[str, int],
    ) -> None:
        super().__init__({"sockname": local, "peername": remote})
        self._links = links
        self._streams = streams
        self.process = process
        self.number = number
        self._protocol: asyncio.BaseProtocol | None = None
        self._arrived: deque[bytes] = deque()
        self._reading = True
        self._open = True
        """The process can still use it."""
        self._told = False
        """The protocol knows, or is about to be told, that it is over."""
        self._stalled: deque[bytes] = deque()
        """Sent, and not to arrive before the link is healed."""
        self._stalled_since_us: int | None = None
        self._last_arrival_us = 0
        self._unread_bytes = 0
        self._high_water = _HIGH_WATER
        self._writing_paused = False
        self.forgotten = False
        """Something on the way has lost track of this direction: nothing passes any more."""
        self._late_until_us = 0
        """Nothing arrives before."""

    # -- the protocol's side -----------------------------------------------------------------------

    def begin(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        self._hand_over()

    def accepted(self, accept: Callable[[], asyncio.BaseProtocol]) -> None:
        """The process sees the connection in its next turn."""
        self.process.call_soon(lambda: self.begin(accept()) if self._open else None)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._open or not self.process.is_alive or not data:
            return
        self._send(bytes(data))
        self._unread_bytes += len(data)
        if self._unread_bytes > self._high_water and not self._writing_paused:
            self._writing_paused = True
            assert isinstance(self._protocol, asyncio.BaseProtocol)
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return self._unread_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        del low
        self._high_water = _HIGH_WATER if high is None else high

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self.process.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        return self._reading

    def is_closing(self) -> bool:
        return not self._open

    def can_write_eof(self) -> bool:
        return False

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def close(self) -> None:
        """What was written still arrives."""
        if self._open and self.process.is_alive:
            self._open = False
            self._send(_END)
            self._tell(None)

    abort = close

    # -- the way -----------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        links = self._links
        if data and len(data) > 1 and links.random.random() < links.split:
            at = links.random.randrange(1, len(data))
            self._dispatch(data[:at])
            self._dispatch(data[at:])
        else:
            self._dispatch(data)

    def _dispatch(self, data: bytes) -> None:
        links = self._links
        delay_us = links.delay_us(self.process.host, self.peer.process.host)
        at_us = max(links.simulator.now_us + delay_us, self._last_arrival_us)
        self._last_arrival_us = at_us
        links.simulator.at(at_us, lambda: self._arrive(data))

    def _arrive(self, data: bytes) -> None:
        links, peer = self._links, self.peer
        source, target = self.process.host, peer.process.host
        if self._late_until_us > links.simulator.now_us:
            links.simulator.at(self._late_until_us, lambda: self._arrive(data))
        elif self._stalled or self.forgotten or not links.passes(source, target):
            self._stall(data)
        elif peer.number in self._streams:
            if data is not _END:
                links.simulator.note(b"%d>%d" % (peer.number, crc32(data)))
            peer.receive(data)
        elif data is not _END:
            # The connection is gone there: the other kernel answers with a reset, if that passes.
            delay_us = links.delay_us(target, source)
            links.simulator.after(
                delay_us, lambda: self.reset() if links.passes(target, source) else None
            )

    def _stall(self, data: bytes) -> None:
        simulator = self._links.simulator
        if not self._stalled:
            since_us = self._stalled_since_us = simulator.now_us
            simulator.after(self._links.give_up_us, lambda: self._give_up(since_us))
        self._stalled.append(data)

    def _give_up(self, since_us: int) -> None:
        if self._stalled_since_us == since_us:
            self._stalled.clear()
            self._stalled_since_us = None
            self.forgotten = True
            self.break_off(OSError(ETIMEDOUT, "Connection timed out"))

    def link_healed(self) -> None:
        """What waited is sent again, some time later."""
        if not self._stalled or self.forgotten:
            return
        links = self._links
        delay_us = links.random.randint(*_RETRANSMIT_US)
        since_us = self._stalled_since_us
        links.simulator.after(delay_us, lambda: self._retransmit(since_us))

    def _retransmit(self, since_us: int | None) -> None:
        passes = self._links.passes(self.process.host, self.peer.process.host)
        if self._stalled_since_us != since_us or since_us is None or not passes:
            return
        waiting, self._stalled = self._stalled, deque()
        self._stalled_since_us = None
        for data in waiting:
            self._arrive(data)

    # -- arriving ----------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        if self._open and self.process.is_alive:
            self._arrived.append(data)
            self.process.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        protocol = self._protocol
        while self._arrived and self._reading and self._open and protocol is not None:
            data = self._arrived.popleft()
            if data is _END:
                assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
                protocol.eof_received()
                self.close()
                return
            self.peer.read_by_peer(len(data))
            if isinstance(protocol, asyncio.BufferedProtocol):
                self._fill(protocol, data)
            else:
                assert isinstance(protocol, asyncio.Protocol)
                protocol.data_received(data)

    def _fill(self, protocol: asyncio.BufferedProtocol, data: bytes) -> None:
        at = 0
        while at < len(data) and self._open:
            buffer = memoryview(protocol.get_buffer(-1))
            count = min(len(buffer), len(data) - at)
            buffer[:count] = data[at : at + count]
            at += count
            protocol.buffer_updated(count)

    def read_by_peer(self, count: int) -> None:
        self._unread_bytes -= count
        if self._writing_paused and self._unread_bytes <= self._high_water // 4:
            self._writing_paused = False
            if self._open and self._protocol is not None:
                self.process.call_soon(self._protocol.resume_writing)

    # -- the end -----------------------------------------------------------------------------------

    def _tell(self, error: OSError | None) -> None:
        if not self._told:
            self._told = True
            self.process.call_soon(self._lost, error)

    def _lost(self, error: OSError | None) -> None:
        self._streams.pop(self.number, None)
        self._arrived.clear()
        if self._protocol is not None:
            self._protocol.connection_lost(error)

    def break_off(self, error: OSError) -> None:
        """This end's kernel gives the connection up; the other one hears nothing of it."""
        if self._open and self.process.is_alive:
            self._open = False
            self._tell(error)

    def reset(self) -> None:
        self.break_off(OSError(ECONNRESET, "Connection reset by peer"))

    def linger(self, delay_us: int) -> None:
        """This end breaks now; what was on its way arrives late, maybe after its repetition."""
        if self._open and self.process.is_alive:
            self._late_until_us = self._links.simulator.now_us + delay_us
            self._dispatch(_END)
            self.reset()

    def obliterate(self) -> None:
        """Both ends break, and nothing that was on its way arrives."""
        for end in (self, self.peer):
            end.forgotten = True
            end._stalled.clear()
            end._stalled_since_us = None
            end._arrived.clear()
            end.reset()

    def process_died(self) -> None:
        """Its kernel sends what was written, and the end."""
        if self._open:
            self._open = False
            self._dispatch(_END)
        self._streams.pop(self.number, None)

    def vanish(self) -> None:
        """Its machine is gone: nothing of what was not yet on its way is ever sent."""
        self._open = False
        self._stalled.clear()
        self._stalled_since_us = None
        self.forgotten = True
