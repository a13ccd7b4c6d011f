"""One instance of the service, from start to end."""

import asyncio
import logging
import signal
from functools import partial

from barnabas.connect.open_cluster import warn_if_open
from barnabas.connect.rest.answers import error_answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.router import Router
from barnabas.connect.rights import check_service_rights
from barnabas.connect.runner import Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.leadership import Leadership
from barnabas.connect.state.state_topics import StateTopics
from barnabas.web.known_instances import is_known
from barnabas.web.page_guard import known_hosts
from barnabas.web.server import HttpServer, ServerLimits

_log = logging.getLogger("barnabas.connect")


async def serve(settings: ServiceSettings) -> int:
    """Run it until SIGINT or SIGTERM; returns the signal."""
    loop = asyncio.get_running_loop()
    interrupted = asyncio.Event()
    received: list[int] = []

    def note(number: int) -> None:
        received.append(number)
        interrupted.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, note, each)
    await check_service_rights(settings)
    async with StateTopics(settings) as topics:
        await warn_if_open(settings)
        await _serve(settings, topics, interrupted)
    return received[0]


async def _serve(
    settings: ServiceSettings, topics: StateTopics, interrupted: asyncio.Event
) -> None:
    limits = ServerLimits(body_bytes=settings.max_body_bytes, keeps_connections=True)
    guard = known_hosts(settings.known_hosts, "--public-host")
    server = HttpServer(error_answer, limits, guard=guard)
    port = await server.listen(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host  # IPv6, as in URLs
    worker_id = f"{host}:{port}"
    url = settings.advertised or f"http://{worker_id}"
    if not is_known(url, url, settings.instances):
        _log.warning(
            "instances that stand by pass no requests on to this one: name the URLs of all of them"
            " with --instances, %s among them",
            url,
        )
    runner = Runner(settings, topics, worker_id)
    leadership = Leadership(settings, topics, worker_id, url, runner.extend_lease)
    runner.start()
    await server.serve(Router(ApiContext(settings, topics, leadership, runner)))
    _log.info("listening on http://%s", worker_id)
    leading = asyncio.ensure_future(leadership.run(partial(runner.lead, leadership.write)))
    waiting = asyncio.ensure_future(interrupted.wait())
    try:
        await asyncio.wait([leading, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        leadership.resign()
        try:
            await leading
        finally:
            await server.close()
            await runner.close()
