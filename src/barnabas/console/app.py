"""The application: the API, the files of the page, and one page for all other paths."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from barnabas.console.access.guard import Guard
from barnabas.console.access.oidc.routes import BACK, BEGIN, OidcRoutes
from barnabas.console.access.sessions import Sessions
from barnabas.console.answers import ApiError, error_response, json_response
from barnabas.console.api.endpoints import ENDPOINTS
from barnabas.console.calls import Calls
from barnabas.console.openapi import openapi
from barnabas.console.options import ConsoleOptions

STATIC = Path(__file__).parent / "static"
_PAGES = (
    "",
    "topics",
    "groups",
    "schemas",
    "subject",
    "group",
    "pipelines",
    "pipeline",
    "connector",
    "dead-letters",
    "cluster",
    "access",
    "sign-in",
    "about",
)


def make_app(options: ConsoleOptions) -> Starlette:
    """An ASGI application."""
    sessions = Sessions(options)
    calls = Calls(options, sessions)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sessions.open()
        try:
            yield
        finally:
            await sessions.close()
            await calls.close()

    oidc = [] if options.oidc is None else _oidc_routes(OidcRoutes(options.oidc, sessions))
    routes = [
        *oidc,
        Route("/api/session", calls.get_session, methods=["GET"]),
        Route("/api/session", calls.sign_in, methods=["POST"]),
        Route("/api/session", calls.sign_out, methods=["DELETE"]),
        Route("/api/openapi.json", _openapi, methods=["GET"]),
        *(Route(each.path, calls.answer(each), methods=[each.method]) for each in ENDPOINTS),
        Route("/api/{rest:path}", _no_call, methods=["GET", "POST", "PUT", "DELETE"]),
        Mount("/static", _Files(directory=STATIC)),
        Route("/{rest:path}", _page, methods=["GET"]),
    ]
    guard = Middleware(Guard, allowed_hosts=options.allowed_hosts)
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan)


def _oidc_routes(routes: OidcRoutes) -> list[Route]:
    return [
        Route(BEGIN, routes.begin, methods=["GET"]),
        Route(BACK, routes.back, methods=["GET"]),
    ]


class _Files(StaticFiles):
    """The page's files: asked for again each time, and answered with 304 if they are the same."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _openapi(_: Request) -> Response:
    return json_response(openapi(ENDPOINTS))


async def _no_call(request: Request) -> Response:
    what = f"there is no {request.method} {request.url.path[:200]}"
    hint = "GET /api/openapi.json lists all calls."
    return error_response(ApiError(HTTPStatus.NOT_FOUND, what, hint))


async def _page(request: Request) -> Response:
    """One page for all paths of the console: the browser shows what a path stands for."""
    first = request.path_params["rest"].partition("/")[0]
    status = HTTPStatus.OK if first in _PAGES else HTTPStatus.NOT_FOUND
    return FileResponse(STATIC / "index.html", status, headers={"Cache-Control": "no-cache"})
