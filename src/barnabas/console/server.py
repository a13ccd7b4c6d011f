"""Runs the console until it is cancelled."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from barnabas.console.app import make_app
from barnabas.console.options import ConsoleOptions
from barnabas.console.slow_requests import MAX_CONNECTIONS, TimedProtocol
from barnabas.errors import InvalidArgument

_GOODBYE_S = 1
_BACKLOG = 128


class _Server(uvicorn.Server):
    """Says when it listens. Signals are the command's: it cancels."""

    on_ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(options: ConsoleOptions, on_ready: Callable[[str], None]) -> None:
    """Serve until it is cancelled; `on_ready` is told the address. Raises `InvalidArgument`."""
    listening = _listen(options)
    config = uvicorn.Config(
        make_app(options),
        loop="none",
        http=TimedProtocol,
        limit_concurrency=MAX_CONNECTIONS,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GOODBYE_S,
        ssl_certfile=None if options.certificate is None else str(options.certificate),
        ssl_keyfile=None if options.key is None else str(options.key),
    )
    server = _Server(config)
    server.on_ready = lambda: on_ready(address_of(options, listening.getsockname()[1]))
    serving = asyncio.ensure_future(server.serve([listening]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        while not serving.done():  # a second signal does not interrupt the shutdown
            with suppress(asyncio.CancelledError):
                await asyncio.wait([serving])
        with suppress(asyncio.CancelledError):
            await serving
        listening.close()


def address_of(options: ConsoleOptions, port: int) -> str:
    """What to open in a browser."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    shown = "localhost" if options.is_local else host
    return f"{options.scheme}://{shown}:{port}/"


def _listen(options: ConsoleOptions) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidArgument(
            f"can't listen on {options.host}:{options.port}: {error.strerror or error}; choose "
            "another address with --listen HOST:PORT, port 0 takes a free one"
        ) from error
    return listening
