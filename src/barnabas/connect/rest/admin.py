"""`/`, `/health` and `/admin/loggers`: about this instance."""

import logging
import time
from http import HTTPStatus
from typing import Any

from barnabas import __version__
from barnabas.connect.rest.answers import ApiError, answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.web.messages import Request, Response

_LEVELS = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG - 5,
}
_ROOT = "root"
_modified: dict[str, int] = {}


async def about(context: ApiContext, _request: Request) -> Response:
    """GET /."""
    cluster = context.topics.cluster_id
    return answer({"version": __version__, "commit": __version__, "kafka_cluster_id": cluster})


async def health(context: ApiContext, _request: Request) -> Response:
    """GET /health: whether connectors run, or could be taken over at once."""
    leader = context.topics.leader
    if not context.runner.is_ready:
        message = "Spark is starting."
    elif leader is None or leader.resigned:
        message = "No instance leads yet."
    else:
        told = "Worker has completed startup and is ready to handle requests."
        return answer({"status": "healthy", "message": told})
    return answer({"status": "starting", "message": message}, HTTPStatus.SERVICE_UNAVAILABLE)


async def list_loggers(_context: ApiContext, _request: Request) -> Response:
    """GET /admin/loggers."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("barnabas")]
    return answer({name: _shown(name) for name in (_ROOT, *sorted(names))})


async def get_logger(_context: ApiContext, request: Request) -> Response:
    """GET /admin/loggers/NAME."""
    name = request.path[2]
    if name != _ROOT and name not in logging.root.manager.loggerDict:
        raise ApiError(HTTPStatus.NOT_FOUND, f"Logger {name} not found.")
    return answer(_shown(name))


async def set_logger(_context: ApiContext, request: Request) -> Response:
    """PUT /admin/loggers/NAME, of this instance."""
    name = request.path[2]
    if request.query.get("scope", ["worker"]) != ["worker"]:
        raise ApiError(HTTPStatus.BAD_REQUEST, "scope: only worker is supported; ask each instance")
    level = str(request.json_object().get("level", "")).upper()
    if level not in _LEVELS:
        raise ApiError(
            HTTPStatus.NOT_FOUND, f"invalid log level '{level}'; use {', '.join(_LEVELS)}"
        )
    _logger(name).setLevel(_LEVELS[level])
    _modified[name] = int(time.time() * 1000)
    return answer([name])


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == _ROOT else name)


def _shown(name: str) -> dict[str, Any]:
    number = _logger(name).getEffectiveLevel()
    level = min(_LEVELS, key=lambda each: abs(_LEVELS[each] - number))
    return {"level": level, "last_modified": _modified.get(name)}
