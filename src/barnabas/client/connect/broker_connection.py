"""One TCP connection to one broker.

Requests are pipelined: a broker answers them in the order in which it got them, so the answers are
matched with a queue, and a correlation id that does not fit means that the stream is broken. The
first exchange asks for the versions that the broker serves; from then on every request goes out in
the newest version that both sides know.

A request that is not answered in time takes the connection with it: whatever came later would wait
behind the same answer. A caller that is cancelled does not; its answer is dropped when it comes.

A connection may be encrypted (`ssl_context`). While a client signs in (`sign_in.py`), also if it
does so again in the middle of its work, other requests wait: a broker would take them for a part
of it.
"""

import asyncio
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, Self, TypeVar, cast

from barnabas import __version__
from barnabas.client.connect.traffic import Traffic
from barnabas.errors import (
    BrokerUnreachable,
    ConnectionLost,
    HandshakeFailed,
    HostUnknown,
    InvalidArgument,
    NobodyListens,
    ProtocolMismatch,
    RequestTimedOut,
)
from barnabas.self_connection import refuse_self_connection
from barnabas.tls.failures import why_handshake_failed
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import correlation_id_of, decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.primitives import Buffer, WireError
from barnabas.wire.response_frames import FrameSizeError, ResponseFrames

DEFAULT_REQUEST_TIMEOUT_MS = 30_000
MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""A larger answer is no Kafka: four bytes of TLS or HTTP read as a length, most likely."""
_MIN_RESPONSE_BYTES = 4  # its correlation id
_ERROR_CODE_AT = 4
_UNSUPPORTED_VERSION = struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)
_CLOSE_TIMEOUT_S = 5

ResponseT = TypeVar("ResponseT", bound=Response)


class _Pending(NamedTuple):
    correlation_id: int
    answer: "asyncio.Future[Buffer]"


class BrokerConnection(asyncio.BufferedProtocol):
    """Made by `BrokerConnection.open`; `close` it, or let the other side do so."""

    def __init__(self, address: str, client_id: str) -> None:
        self.address = address
        self._client_id = client_id
        self._transport: asyncio.Transport | None = None
        self._received = ResponseFrames(_MIN_RESPONSE_BYTES, MAX_RESPONSE_BYTES)
        self._pending: deque[_Pending] = deque()
        self._next_correlation_id = 0
        self._versions: dict[int, tuple[int, int]] = {}
        self._features: dict[str, int] = {}
        self._lost: ConnectionLost | ProtocolMismatch | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_paused = self._is_signing_in = False
        """Why `_writable` is not set."""
        self._was_served = False
        """Whether the broker has answered more than which versions it serves."""
        self._closed = asyncio.Event()
        self._on_lost: list[Callable[[], object]] = []
        self.clock: Callable[[], float] = time.monotonic
        """Seconds, for latencies: the time of uvloop's loop has a resolution of milliseconds."""
        self.traffic = Traffic()
        """What is counted; of all connections of a client, once its pool has this one."""
        self.tls_failure: str | None = None
        """What the broker has objected to after the handshake, such as a missing certificate."""

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str = "barnabas",
        timeout_ms: int = 10_000,
        ssl_context: ssl.SSLContext | None = None,
    ) -> Self:
        """Connect and agree on versions. Raises `BrokerUnreachable` with the bare reason."""
        loop = asyncio.get_running_loop()
        address = f"{host}:{port}"
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                transport, connection = await loop.create_connection(
                    lambda: cls(address, client_id),
                    host,
                    port,
                    ssl=ssl_context,
                    server_hostname=None if ssl_context is None else host,
                )
        except TimeoutError as error:
            raise BrokerUnreachable(f"no answer in {timeout_ms} ms") from error
        except socket.gaierror as error:
            raise HostUnknown(_reason(error)) from error
        except ssl.SSLError as error:
            raise HandshakeFailed(why_handshake_failed(error)) from error
        except (ConnectionResetError, ConnectionAbortedError) as error:
            if ssl_context is None:
                raise BrokerUnreachable(_reason(error)) from error
            raise HandshakeFailed(
                "it closed the connection during the TLS handshake: is this the port of a TLS "
                "listener?"
            ) from error
        except OSError as error:
            if _is_refusal(error):
                raise NobodyListens("connection refused") from error
            raise BrokerUnreachable(_reason(error)) from error
        if refuse_self_connection(transport):
            await connection.close()
            raise NobodyListens("connection refused")
        try:
            await connection._negotiate(timeout_ms)
        except (RequestTimedOut, ConnectionLost) as error:
            await connection.close()
            if connection.tls_failure is not None:
                raise HandshakeFailed(connection.tls_failure) from error
            what = "does not answer" if isinstance(error, RequestTimedOut) else "closes it"
            unreachable = BrokerUnreachable(
                f"it accepts the connection and {what}: it is busy, is not Kafka, or needs "
                "security.protocol=SSL or SASL_SSL (on the command line `--command-config FILE`)"
            )
            unreachable.is_connected = True
            raise unreachable from error
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def closed(self) -> bool:
        return self._lost is not None

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return len(self._pending)

    async def send(
        self,
        request: Request[ResponseT],
        *,
        max_version: int | None = None,
        timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        is_sign_in: bool = False,
    ) -> ResponseT:
        """Send and wait for the answer, both in the newest version known to both sides.

        `max_version` keeps a request below a version that changed its shape.
        """
        version = self.version_for(type(request), max_version)
        answer = await self._write(request, version, timeout_ms, is_sign_in=is_sign_in)
        return self._decode(answer, request, version)

    async def post(self, request: Request[Response], *, max_version: int | None = None) -> None:
        """Send a request that has no answer: Produce with acks=0 is the only one."""
        version = self.version_for(type(request), max_version)
        while not self._writable.is_set():
            await self._writable.wait()
        transport = self._transport_or_raise()
        if transport.is_closing():  # and `connection_lost` is about to come
            raise ConnectionLost(f"the broker at {self.address} closed the connection")
        frame = self._encode(request, version, self._take_correlation_id())
        self.traffic.sent(sum(map(len, frame)), self.clock())
        transport.writelines(frame)

    def version_for(
        self, request_type: type[Request[Response]], max_version: int | None = None
    ) -> int:
        """The version a request goes out in. Raises `ProtocolMismatch` if there is none."""
        name = request_type.__name__.removesuffix("Request")
        if request_type.API_KEY not in self._versions:
            raise ProtocolMismatch(f"the broker at {self.address} does not serve {name}")
        lowest, highest = self._versions[request_type.API_KEY]
        newest = request_type.MAX_VERSION
        if max_version is not None and max_version < newest:
            newest = max_version
        version = min(newest, highest)
        if version < max(request_type.MIN_VERSION, lowest):
            raise ProtocolMismatch(
                f"the broker at {self.address} serves {name} in versions {lowest} to {highest}, "
                f"this client knows {request_type.MIN_VERSION} to {newest}"
            )
        return version

    def serves(self, request_type: type[Request[Response]]) -> bool:
        """Whether the broker knows this request at all."""
        return request_type.API_KEY in self._versions

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        """Its TLS, if it has any."""
        session: ssl.SSLObject | None = self._transport_or_raise().get_extra_info("ssl_object")
        return session

    def feature_level(self, name: str) -> int:
        """The level of a feature that the cluster has agreed on; 0 if it has no such feature."""
        return self._features.get(name, 0)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Let all requests wait but those of the sign-in."""
        self._is_signing_in = True
        self._writable.clear()
        try:
            yield
        finally:
            self._is_signing_in = False
            self._set_writable()

    def on_lost(self, call: Callable[[], object]) -> None:
        """Have something called when the connection is lost or closed."""
        self._on_lost.append(call)

    def abandon(self, reason: str) -> None:
        """Close at once; requests under way get `ConnectionLost`."""
        self._fail(ConnectionLost(f"the connection to {self.address} was closed: {reason}"))

    async def close(self) -> None:
        """Close once all that was written is sent; requests under way get `ConnectionLost`."""
        if self._transport is not None:
            self._transport.close()
        self._fail(ConnectionLost(f"the connection to {self.address} was closed"), abort=False)
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._closed.wait()
        except TimeoutError:
            if self._transport is not None:
                self._transport.abort()

    # -- exchange ------------------------------------------------------------------------------

    async def _negotiate(self, timeout_ms: int) -> None:
        """Ask for the served versions.

        A broker that does not know our version of the question answers in version 0 with
        UNSUPPORTED_VERSION, where the error code stands in the same place as in every version; some
        say in that answer which version they would have understood.
        """
        request = ApiVersionsRequest(
            client_software_name="barnabas", client_software_version=__version__
        )
        version = ApiVersionsRequest.MAX_VERSION
        answer = await self._write(request, version, timeout_ms)
        if answer[_ERROR_CODE_AT : _ERROR_CODE_AT + 2] == _UNSUPPORTED_VERSION:
            refusal: ApiVersionsResponse = self._decode(answer, request, 0)
            known = (api for api in refusal.api_keys if api.api_key == request.API_KEY)
            version = min(max((api.max_version for api in known), default=0), version - 1)
            answer = await self._write(request, version, timeout_ms)
        response: ApiVersionsResponse = self._decode(answer, request, version)
        if response.error_code:
            raise ProtocolMismatch(
                f"the broker at {self.address} does not say what it serves: "
                f"error {response.error_code}"
            )
        self._versions = {
            api.api_key: (api.min_version, api.max_version) for api in response.api_keys
        }
        self._features = {
            feature.name: feature.max_version_level for feature in response.finalized_features
        }

    async def _write(
        self,
        request: Request[Response],
        version: int,
        timeout_ms: int,
        *,
        is_sign_in: bool = False,
    ) -> Buffer:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not is_sign_in and not self._writable.is_set():
                    await self._writable.wait()
                transport = self._transport_or_raise()
                correlation_id = self._take_correlation_id()
                frame = self._encode(request, version, correlation_id)
                answer: asyncio.Future[Buffer] = asyncio.get_running_loop().create_future()
                self._pending.append(_Pending(correlation_id, answer))
                began = self.clock()
                self.traffic.sent(sum(map(len, frame)), began)
                if not transport.is_closing():  # otherwise `connection_lost` is about to come
                    transport.writelines(frame)
                received = await answer
                now = self.clock()
                self.traffic.answered(request.API_KEY, now - began, now)
                return received
        except TimeoutError as error:
            name = type(request).__name__.removesuffix("Request")
            message = f"the broker at {self.address} did not answer {name} in {timeout_ms} ms"
            self._fail(ConnectionLost(message))
            raise RequestTimedOut(message) from error

    def _encode(
        self, request: Request[Response], version: int, correlation_id: int
    ) -> list[Buffer]:
        try:
            return encode_request(request, version, correlation_id, self._client_id)
        except (WireError, struct.error, UnicodeEncodeError) as error:
            name = type(request).__name__.removesuffix("Request")
            raise InvalidArgument(f"this cannot be put into {name} v{version}: {error}") from error

    def _decode(self, answer: Buffer, request: Request[ResponseT], version: int) -> ResponseT:
        try:
            response = decode_response(memoryview(answer), request.RESPONSE, version)
        except WireError as error:
            mismatch = ProtocolMismatch(
                f"the broker at {self.address} sent an invalid response: {error}"
            )
            self._fail(mismatch)
            raise mismatch from error
        return response  # type: ignore[return-value]  # RESPONSE is the class that ResponseT names

    def _take_correlation_id(self) -> int:
        taken = self._next_correlation_id
        self._next_correlation_id = (taken + 1) & 0x7FFFFFFF
        return taken

    def _transport_or_raise(self) -> asyncio.Transport:
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)
        assert self._transport is not None
        return self._transport

    def _fail(self, error: ConnectionLost | ProtocolMismatch, *, abort: bool = True) -> None:
        """Close, and fail all pending requests. Only the first reason counts."""
        if self._lost is None:
            self._lost = error
            if abort and self._transport is not None:
                self._transport.abort()
            self._writable.set()
            for call in self._on_lost:
                call()
        while self._pending:
            answer = self._pending.popleft().answer
            if not answer.done():
                answer.set_exception(type(self._lost)(*self._lost.args))

    # -- asyncio.BufferedProtocol --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self.tls_failure = why_handshake_failed(exc)
        reason = f": {self.tls_failure or exc}" if exc is not None else ""
        if self._pending and self._versions and not self._was_served:
            reason += (
                "; if clients sign in there, set security.protocol to SASL_SSL or SASL_PLAINTEXT"
            )
        self._fail(ConnectionLost(f"the broker at {self.address} closed the connection{reason}"))
        self._closed.set()

    def pause_writing(self) -> None:
        self._is_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        self._is_paused = False
        self._set_writable()

    def _set_writable(self) -> None:
        if self._lost is not None or not (self._is_paused or self._is_signing_in):
            self._writable.set()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - whatever has come
        return self._received.free()

    def buffer_updated(self, nbytes: int) -> None:
        self.traffic.bytes_in += nbytes
        self._received.received(nbytes)
        try:
            while (frame := self._received.next_frame()) is not None:
                if not self._deliver(memoryview(frame).toreadonly()):
                    return
        except FrameSizeError as error:
            self._fail(
                ProtocolMismatch(
                    f"the server at {self.address} does not speak plaintext Kafka "
                    f"(a frame of {error} bytes)"
                )
            )

    def _deliver(self, frame: Buffer) -> bool:
        if not self._pending or self._pending[0].correlation_id != correlation_id_of(frame):
            self._fail(
                ProtocolMismatch(
                    f"the broker at {self.address} sent a response that matches no request"
                )
            )
            return False
        answer = self._pending.popleft().answer
        if self._versions:
            self._was_served = True
        if not answer.done():
            answer.set_result(frame)
        return True


def _is_refusal(error: OSError) -> bool:
    """Asyncio joins several attempts into one error without a number."""
    return isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error)


def _reason(error: OSError) -> str:
    """Why no connection could be made, in words."""
    return error.strerror or str(error)
