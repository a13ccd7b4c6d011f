"""TLS between a socket and a `Connection`: the socket's protocol, and the connection's transport.

The event loop brings TLS of its own. This one instead knows who failed to connect and why, bounds
handshakes, and reads and writes in larger pieces:

- Encrypted bytes arrive in one buffer for all connections of a listener, and are decrypted into the
  connection's own receive buffer, as many records as there are in one go.
- The SSL object is made when the first bytes have arrived: a silent client costs little.
- Each connection takes the listener's context of that moment, so new certificates need nothing
  else.

Renegotiation is off (`tls/contexts.py`).
"""

import ssl
from asyncio import AbstractEventLoop, BufferedProtocol, Transport
from asyncio.transports import BaseTransport
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.foreign_protocol import not_tls
from barnabas.broker.net.listener_tls import ListenerTls
from barnabas.security.address import canonical_address
from barnabas.tls.failures import REVOKED, why_handshake_failed
from barnabas.wire.primitives import Buffer

_RECEIVED_BYTES = 64 * 1024
"""Encrypted bytes read at once. OpenSSL keeps a buffer of this size for each connection that was
busy once, and another for writing: larger ones did not measurably save time."""
_HANDSHAKE_BYTES = 16 * 1024
"""A client may send its certificates, not more."""
_WRITE_BYTES = 64 * 1024
"""Bytes encrypted before they are given to the socket."""


class TlsAcceptor:
    """Makes the connections of one TLS listener."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        tls: ListenerTls,
        limits: ConnectionLimits,
        new_connection: Callable[[], Connection],
    ) -> None:
        self.loop = loop
        self.tls = tls
        self.limits = limits
        self.new_connection = new_connection
        self.received = memoryview(bytearray(_RECEIVED_BYTES))
        """Used by one connection at a time, between two calls of the event loop."""

    def accept(self) -> "TlsConnection":
        return TlsConnection(self)


class TlsConnection(BufferedProtocol):
    """One client; the methods of a transport are for its `Connection`."""

    __slots__ = (
        "_acceptor",
        "_app",
        "_has_ended",
        "_incoming",
        "_is_held",
        "_is_paused",
        "_outgoing",
        "_raw",
        "_ssl",
        "host",
    )

    def __init__(self, acceptor: TlsAcceptor) -> None:
        self._acceptor = acceptor
        self._raw: Transport | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl: ssl.SSLObject | None = None
        self._app: Connection | None = None
        """None until the handshake is complete."""
        self.host = "?"
        self._is_held = False
        """Whether the handshake has to wait, as the client's address is over its limits."""
        self._is_paused = False
        self._has_ended = False

    # -- the socket's protocol -------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        self._raw = cast("Transport", transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self.host = canonical_address(str(peer[0]))
        limits = self._acceptor.limits
        self._is_held = limits.is_over(self.host)
        limits.handshakes.begin(self)
        if self._is_held:
            limits.handshakes.hold(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._raw = None
        limits = self._acceptor.limits
        limits.handshakes.end(self)
        if self._app is not None:
            self._acceptor.tls.closed(self)
            self._app.connection_lost(exc)
        elif self._ssl is not None:  # a handshake that was not completed counts as well
            limits.rates.connected(self.host)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        received = self._acceptor.received
        return received if self._app is not None else received[:_HANDSHAKE_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._acceptor.received[:nbytes])
        if self._app is not None:
            self._decrypt()
        elif self._ssl is not None:
            self._shake_hands()
        elif self._speaks_tls(nbytes):
            if self._is_held:
                assert self._raw is not None
                self._raw.pause_reading()
            else:
                self._begin()

    def eof_received(self) -> bool:
        """Whether to stay open."""
        if self._app is None:
            if self._ssl is not None:
                self._refuse(
                    "it closed the connection during the TLS handshake; it may not trust this "
                    "node's certificate"
                )
            return False
        return self._end()

    def pause_writing(self) -> None:
        if self._app is not None:
            self._app.pause_writing()

    def resume_writing(self) -> None:
        if self._app is not None:
            self._app.resume_writing()

    # -- the handshake ---------------------------------------------------------------------------

    def give_up(self, why: str) -> None:
        """Close it, also after the handshake: the certificate was revoked since."""
        if self._ssl is not None:
            self._say(why)
        self.abort()

    def proceed(self) -> None:
        self._is_held = False
        if self._raw is not None and self._incoming.pending:
            self._raw.resume_reading()
            self._begin()

    def _speaks_tls(self, nbytes: int) -> bool:
        """Whether the first bytes, which have just arrived, are of TLS; if not, refuse them."""
        foreign = not_tls(bytes(self._acceptor.received[: min(nbytes, 4)]))
        if foreign is not None:
            self._refuse(foreign)
        return foreign is None

    def _begin(self) -> None:
        self._ssl = self._acceptor.tls.accepting.wrap_bio(
            self._incoming, self._outgoing, server_side=True
        )
        self._shake_hands()

    def _shake_hands(self) -> None:
        assert self._ssl is not None
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._refuse(why_handshake_failed(error))
            return
        self._acceptor.limits.handshakes.end(self)
        try:
            certificate = self._ssl.getpeercert(binary_form=True)
            principal = self._acceptor.tls.principal(certificate)
        except ValueError as error:
            self._refuse(str(error))
            return
        if certificate is not None:
            if not self._acceptor.tls.admits(certificate, self._ssl.context):
                self._refuse(REVOKED)
                return
            self._acceptor.tls.opened(self, certificate)
        self._flush()
        app = self._acceptor.new_connection()
        if not self._acceptor.tls.listener.protocol.has_sasl:  # else signing in says who it is
            app.principal = principal
        self._app = app
        app.connection_made(cast("BaseTransport", self))
        self._decrypt()

    def _refuse(self, why: str) -> None:
        """Log why, send what TLS has to say about it, and close."""
        self._acceptor.limits.handshakes.end(self)
        self._say(why)
        self._flush()
        if self._raw is not None:
            self._raw.close()

    def _say(self, why: str) -> None:
        limits = self._acceptor.limits
        limits.foreign.say(self.host, f"{self._acceptor.tls.listener.name}: {why}", limits.now())

    # -- reading ---------------------------------------------------------------------------------

    def _decrypt(self) -> None:
        """Give the connection what has arrived, unless it does not want to read."""
        app, tls = self._app, self._ssl
        if app is None or tls is None:
            return
        has_more = True
        while has_more and not self._is_paused and self._raw is not None:
            buffer = app.get_buffer(-1)
            got, room = 0, len(buffer)
            try:
                while got < room:
                    count = cast("int", tls.read(room - got, buffer[got:] if got else buffer))
                    if not count:
                        has_more = False
                        break
                    got += count
            except ssl.SSLWantReadError:
                has_more = False
            except ssl.SSLError as error:
                if got:
                    app.buffer_updated(got)
                app.refuse(why_handshake_failed(error))
                return
            else:
                if got < room:  # the client has closed its side
                    if got:
                        app.buffer_updated(got)
                    if not self._end():
                        self.close()
                    return
            if got:
                app.buffer_updated(got)
        if self._outgoing.pending:
            self._flush()

    def _end(self) -> bool:
        """The client sends nothing further; whether to stay open."""
        if self._app is None or self._has_ended:
            return self._app is not None and self._app.has_ended
        self._has_ended = True
        return self._app.eof_received()

    # -- the connection's transport ---------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        self.writelines((data,))

    def writelines(self, buffers: Iterable[Buffer]) -> None:
        if self._ssl is None or self._raw is None:
            return
        encrypt, outgoing = self._ssl.write, self._outgoing
        try:
            for buffer in buffers:
                size = len(buffer)
                if size <= _WRITE_BYTES:
                    if size:
                        encrypt(buffer)
                    if outgoing.pending >= _WRITE_BYTES:
                        self._flush()
                    continue
                view = memoryview(buffer)
                for at in range(0, size, _WRITE_BYTES):
                    encrypt(view[at : at + _WRITE_BYTES])
                    self._flush()
        except ssl.SSLError:  # the client has said goodbye
            self.abort()
            return
        self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending and self._raw is not None and not self._raw.is_closing():
            self._raw.write(self._outgoing.read())

    def pause_reading(self) -> None:
        self._is_paused = True
        if self._raw is not None:
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if self._raw is not None:
            self._raw.resume_reading()
        # Not now: the connection may be in the middle of handling a request.
        self._acceptor.loop.call_soon(self._decrypt)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._raw is not None:
            self._raw.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._raw is None else self._raw.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._raw is None or self._raw.is_closing()

    def close(self) -> None:
        """Say goodbye, and close after everything written has been sent."""
        if self._raw is None or self._raw.is_closing():
            return
        if self._ssl is not None:
            with suppress(ssl.SSLError, ValueError):  # its answer is not waited for
                self._ssl.unwrap()
            self._flush()
        self._raw.close()

    def abort(self) -> None:
        if self._raw is not None:
            self._raw.abort()
