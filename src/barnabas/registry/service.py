"""An instance of the registry, from start to end."""

import asyncio
import logging
import signal
from contextlib import AsyncExitStack

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.registry.access.access import RegistryAccess
from barnabas.registry.log import RegistryLog
from barnabas.registry.model.checks import SchemaChecks
from barnabas.registry.rest.answers import error_answer
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.rest.router import RegistryRouter
from barnabas.registry.settings import RegistrySettings
from barnabas.registry.writer import RegistryWriter
from barnabas.web.page_guard import known_hosts
from barnabas.web.server import HttpServer, ServerLimits

_log = logging.getLogger("barnabas.registry")
_CONNECTIONS = 1000
_RETRY_S = 1.0
_END_S = 2.0
"""How long the end takes at most, also of an instance that still waits for brokers."""


async def serve(settings: RegistrySettings, checks: SchemaChecks) -> int:
    """Run it until SIGINT or SIGTERM; returns the signal."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[int] = loop.create_future()

    def note(number: int) -> None:
        if not received.done():
            received.set_result(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, note, each)
    running = asyncio.ensure_future(_serve(settings, checks, received))
    either: set[asyncio.Future[None] | asyncio.Future[int]] = {running, received}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    try:
        await asyncio.wait_for(running, _END_S)
    except TimeoutError:
        _log.info("brokers did not answer at the end")
    return received.result()


async def _serve(
    settings: RegistrySettings, checks: SchemaChecks, received: "asyncio.Future[int]"
) -> None:
    limits = ServerLimits(
        body_bytes=settings.max_body_bytes, connections=_CONNECTIONS, keeps_connections=True
    )
    guard = known_hosts(settings.known_hosts, "--public-host")
    server = HttpServer(error_answer, limits, guard=guard, tls=settings.tls())
    try:
        port = await server.listen(settings.host, settings.port)
    except OSError as error:
        raise InvalidArgument(
            f"can't listen on {settings.host}:{settings.port}: {error.strerror or error}; choose "
            "another address with --listen HOST:PORT, port 0 takes a free one"
        ) from error
    host = f"[{settings.host}]" if ":" in settings.host else settings.host  # IPv6, as in URLs
    url = settings.advertised or f"{settings.scheme}://{host}:{port}"
    try:
        async with AsyncExitStack() as stack:
            log = await _opened(settings, stack)
            writer = RegistryWriter(settings, log, url)
            instance = RegistryInstance(settings, log, writer, checks)
            await server.serve(RegistryRouter(instance, await _access(settings, stack)))
            _log.info("schema registry of %s on %s", settings.bootstrap, url)
            try:
                await asyncio.shield(received)
            finally:
                await writer.resign()
    finally:
        await server.close()


async def _access(settings: RegistrySettings, stack: AsyncExitStack) -> RegistryAccess | None:
    if not settings.sign_in:
        return None
    return await stack.enter_async_context(RegistryAccess(settings))


async def _opened(settings: RegistrySettings, stack: AsyncExitStack) -> RegistryLog:
    """The log, once brokers answer."""
    while True:
        try:
            return await stack.enter_async_context(RegistryLog(settings))
        except BarnabasError as error:
            if not error.retriable:
                raise
            _log.warning("waiting for brokers: %s", error)
            await asyncio.sleep(_RETRY_S)
