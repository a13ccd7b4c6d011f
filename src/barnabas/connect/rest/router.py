"""Which function answers which path, and which requests only the leader can answer."""

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple

from barnabas.connect.rest import admin, connectors, lifecycle, metrics, offsets, plugins
from barnabas.connect.rest.answers import ApiError
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.forwarding import FORWARDED, forward
from barnabas.connect.state.leadership import NotLeader
from barnabas.errors import BarnabasError, ProducerFenced
from barnabas.web.known_instances import is_known
from barnabas.web.messages import Request, Response

_log = logging.getLogger("barnabas.connect")

Call = Callable[[ApiContext, Request], Awaitable[Response]]


class Route(NamedTuple):
    """A method, a path in which `*` is a name, and what answers it."""

    method: str
    path: str
    call: Call
    by_leader: bool = False


ROUTES = (
    Route("GET", "", admin.about),
    Route("GET", "health", admin.health),
    Route("GET", "metrics", metrics.metrics),
    Route("GET", "admin/loggers", admin.list_loggers),
    Route("GET", "admin/loggers/*", admin.get_logger),
    Route("PUT", "admin/loggers/*", admin.set_logger),
    Route("GET", "connector-plugins", plugins.list_plugins),
    Route("GET", "connector-plugins/*/config", plugins.get_settings),
    Route("PUT", "connector-plugins/*/config/validate", plugins.validate),
    Route("GET", "connectors", connectors.list_connectors),
    Route("POST", "connectors", connectors.create, by_leader=True),
    Route("GET", "connectors/*", connectors.get),
    Route("DELETE", "connectors/*", connectors.delete, by_leader=True),
    Route("GET", "connectors/*/config", connectors.get_config),
    Route("PUT", "connectors/*/config", connectors.put_config, by_leader=True),
    Route("PATCH", "connectors/*/config", connectors.patch_config, by_leader=True),
    Route("GET", "connectors/*/status", connectors.get_status),
    Route("GET", "connectors/*/tasks", connectors.get_tasks),
    Route("GET", "connectors/*/tasks/*/status", connectors.get_task_status),
    Route("POST", "connectors/*/tasks/*/restart", lifecycle.restart_task, by_leader=True),
    Route("GET", "connectors/*/topics", connectors.get_topics),
    Route("PUT", "connectors/*/topics/reset", lifecycle.reset_topics, by_leader=True),
    Route("PUT", "connectors/*/pause", lifecycle.pause, by_leader=True),
    Route("PUT", "connectors/*/resume", lifecycle.resume, by_leader=True),
    Route("PUT", "connectors/*/stop", lifecycle.stop, by_leader=True),
    Route("POST", "connectors/*/restart", lifecycle.restart, by_leader=True),
    Route("GET", "connectors/*/offsets", offsets.get_offsets),
    Route("PATCH", "connectors/*/offsets", offsets.patch_offsets, by_leader=True),
    Route("DELETE", "connectors/*/offsets", offsets.delete_offsets, by_leader=True),
)


class Router:
    """Answers requests."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    async def __call__(self, request: Request) -> Response:
        route = _route(request)
        if route.by_leader and not self._context.leadership.is_leader:
            return await self._by_leader(request)
        try:
            return await route.call(self._context, request)
        except (NotLeader, ProducerFenced) as error:
            raise _no_leader() from error
        except BarnabasError as error:
            raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, str(error)) from error

    async def _by_leader(self, request: Request) -> Response:
        context = self._context
        leader = context.topics.leader
        if leader is None or leader.resigned or FORWARDED in request.headers:
            raise _no_leader()
        if not is_known(leader.url, context.leadership.url, context.settings.instances):
            _log.warning("the leader at %s is not one of --instances", leader.url)
            raise ApiError(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                f"the leader at {leader.url} is not one of the instances that this one knows: name "
                "the URLs of all with --instances, or send the request to the leader",
            )
        return await forward(request, leader.url)


def _no_leader() -> ApiError:
    return ApiError(
        HTTPStatus.CONFLICT,
        "Cannot complete request momentarily due to no known leader URL, likely because a "
        "rebalance was underway.",
    )


def _route(request: Request) -> Route:
    """The route of a request; raises `ApiError`."""
    path = request.path
    methods = []
    for route in ROUTES:
        parts = tuple(filter(None, route.path.split("/")))
        if len(parts) == len(path) and all(
            part in ("*", given) for part, given in zip(parts, path, strict=True)
        ):
            if route.method == request.method or (request.method, route.method) == ("HEAD", "GET"):
                return route
            methods.append(route.method)
    if methods:
        raise ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "HTTP 405 Method Not Allowed")
    raise ApiError(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")
