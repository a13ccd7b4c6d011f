"""The HTTP server of a node: where it listens, and its pages."""

import json
import logging
from asyncio import sleep
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from socket import socket

from barnabas.broker.monitoring.health import Health, Report
from barnabas.broker.monitoring.scrape import Scraper
from barnabas.broker.net.request_times import AllRequestTimes
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.broker.node import Node
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.named_listeners import parse_address
from barnabas.metadata.config_values import InvalidConfigError
from barnabas.metrics.exposition import CONTENT_TYPE
from barnabas.metrics.histogram import WINDOW_S
from barnabas.web.messages import Response
from barnabas.web.page_guard import no_browsers
from barnabas.web.pages import PAGE_LIMITS, page, serving, text_refusal
from barnabas.web.server import HttpServer
from barnabas.wire.endpoint import Address

logger = logging.getLogger(__name__)

SETTING = "metrics.listeners"
_BEHIND_LISTENER = 10_000
_MAX_PORT = 65_535
_JSON = "application/json"

Bind = Callable[[Address], list[socket]]


def is_wanted(config: BrokerConfig) -> bool:
    return config.monitoring.metrics_listeners != ""


def bind_metrics(config: BrokerConfig, ports: Mapping[str, int], bind: Bind) -> list[socket]:
    """The sockets of the server; none if it is turned off. `ports` are those of the listeners.

    A default must not keep a node from starting. So the default port may be taken, and there may be
    no localhost at all. Raises `ConfigError` if the address was given.
    """
    given = config.monitoring.metrics_listeners
    if given == "":
        return []
    if given is not None:
        try:
            return bind(metrics_address(given))
        except ConfigError as error:
            raise ConfigError(f"{SETTING}={given}: {error}") from None
    wanted = ports[config.listeners.every[0].name] + _BEHIND_LISTENER
    if wanted <= _MAX_PORT:
        try:
            return bind(Address("127.0.0.1", wanted))
        except ConfigError:
            logger.warning("port %d is taken, so metrics get a free one: set %s", wanted, SETTING)
    try:
        return bind(Address("127.0.0.1", 0))
    except ConfigError as error:
        logger.warning("there are no metrics: %s; set %s", error, SETTING)
        return []


def metrics_address(given: str) -> Address:
    """Raises `ConfigError`."""
    try:
        return parse_address(given.removeprefix("http://"), f"{SETTING}={given}")
    except InvalidConfigError as error:
        raise ConfigError(str(error)) from None


class MetricsListener:
    """Serves metrics and health of a node, from before it joins the cluster until it has left."""

    def __init__(self, node: Node, times: AllRequestTimes, gate: StartupGate) -> None:
        health = Health(node, gate)
        self._scraper = Scraper(node, times, health)
        self._windows = (times, node.flusher.times, node.client_quotas.throttle_times)
        self._server = HttpServer(text_refusal, PAGE_LIMITS, guard=no_browsers)
        self._pages = {
            "/metrics": self._metrics,
            "/livez": lambda: _report(health.live),
            "/readyz": lambda: _report(health.ready),
            "/startupz": lambda: _report(health.startup),
        }

    async def start(self, sockets: Sequence[socket]) -> None:
        await self._server.listen_on(sockets)
        await self._server.serve(serving(self._pages))
        host, port = sockets[0].getsockname()[:2]
        logger.info("metrics at http://%s/metrics", Address(host, port))

    async def rotate_windows(self) -> None:
        """Keep quantiles recent; runs until it is cancelled."""
        while True:
            await sleep(WINDOW_S)
            for each in self._windows:
                each.rotate()

    async def close(self) -> None:
        await self._server.close()

    async def _metrics(self) -> Response:
        return page(*await self._scraper.scrape(), content_type=CONTENT_TYPE)


async def _report(look: Callable[[], Report]) -> Response:
    report = look()
    status = HTTPStatus.OK if report.is_good else HTTPStatus.SERVICE_UNAVAILABLE
    text = json.dumps({"ok": report.is_good, **report.details})
    return page(f"{text}\n".encode(), status=status, content_type=_JSON)
