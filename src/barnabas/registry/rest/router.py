"""Which function answers which path, and where changes are made.

An instance that does not write forwards a change to the one that does, or becomes the writer itself
if that one is gone or can't be forwarded to. Then it waits until it has read what was written, so
that its own clients see their changes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from time import monotonic
from typing import NamedTuple

from barnabas.errors import BarnabasError
from barnabas.registry.forwarding import FORWARDED, OFFSET, WriterGoneError, forward, is_known
from barnabas.registry.model.errors import RegistryRefusal, no_writer, store_failed
from barnabas.registry.rest import (
    about,
    compatibility,
    config,
    contexts,
    metrics,
    mode,
    schemas,
    subjects,
)
from barnabas.registry.rest.answers import error_answer, refusal
from barnabas.registry.rest.call import Call, parse_call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.writer import WriterLostError
from barnabas.web.messages import HttpError, Request, Response

_log = logging.getLogger("barnabas.registry")
_PATIENCE_S = 15.0
_PAUSE_S = 0.02
_CATCH_UP_S = 1.0
_NOT_FOUND = range(40400, 40500)
_MISDIRECTED = HTTPStatus.MISDIRECTED_REQUEST

Answer = Callable[[RegistryInstance, Call], Awaitable[Response]]


class RegistryRoute(NamedTuple):
    """A method, a path in which `*` is a name, and what answers it."""

    method: str
    path: str
    call: Answer


ROUTES = (
    RegistryRoute("GET", "", about.root),
    RegistryRoute("POST", "", about.root),
    RegistryRoute("GET", "health", about.health),
    RegistryRoute("GET", "metrics", metrics.metrics),
    RegistryRoute("GET", "v1/metadata/id", about.cluster),
    RegistryRoute("GET", "v1/metadata/version", about.version),
    RegistryRoute("GET", "subjects", subjects.list_subjects),
    RegistryRoute("POST", "subjects/*", subjects.find),
    RegistryRoute("DELETE", "subjects/*", subjects.delete),
    RegistryRoute("GET", "subjects/*/metadata", subjects.get_by_metadata),
    RegistryRoute("GET", "subjects/*/versions", subjects.list_versions),
    RegistryRoute("POST", "subjects/*/versions", subjects.add_version),
    RegistryRoute("GET", "subjects/*/versions/*", subjects.get_version),
    RegistryRoute("DELETE", "subjects/*/versions/*", subjects.remove_version),
    RegistryRoute("GET", "subjects/*/versions/*/schema", subjects.get_text),
    RegistryRoute("GET", "subjects/*/versions/*/referencedby", subjects.referenced_by),
    RegistryRoute("GET", "schemas", schemas.list_schemas),
    RegistryRoute("GET", "schemas/types", schemas.list_types),
    RegistryRoute("GET", "schemas/ids/*", schemas.get_schema),
    RegistryRoute("GET", "schemas/ids/*/schema", schemas.get_text),
    RegistryRoute("GET", "schemas/ids/*/subjects", schemas.get_subjects),
    RegistryRoute("GET", "schemas/ids/*/versions", schemas.get_versions),
    RegistryRoute("GET", "schemas/guids/*", schemas.get_by_guid),
    RegistryRoute("GET", "schemas/guids/*/ids", schemas.get_ids_of_guid),
    RegistryRoute("POST", "compatibility/subjects/*/versions", compatibility.check_subject),
    RegistryRoute("POST", "compatibility/subjects/*/versions/*", compatibility.check_version),
    RegistryRoute("GET", "config", config.get),
    RegistryRoute("PUT", "config", config.put),
    RegistryRoute("DELETE", "config", config.delete),
    RegistryRoute("GET", "config/*", config.get),
    RegistryRoute("PUT", "config/*", config.put),
    RegistryRoute("DELETE", "config/*", config.delete),
    RegistryRoute("GET", "mode", mode.get),
    RegistryRoute("PUT", "mode", mode.put),
    RegistryRoute("DELETE", "mode", mode.delete),
    RegistryRoute("GET", "mode/*", mode.get),
    RegistryRoute("PUT", "mode/*", mode.put),
    RegistryRoute("DELETE", "mode/*", mode.delete),
    RegistryRoute("GET", "contexts", contexts.list_contexts),
    RegistryRoute("DELETE", "contexts/*", contexts.delete),
)


class RegistryRouter:
    """Answers requests."""

    def __init__(self, instance: RegistryInstance) -> None:
        self._instance = instance

    async def __call__(self, request: Request) -> Response:
        call = parse_call(request)
        try:
            return await self._answer(_route(call), call)
        except RegistryRefusal as error:
            return refusal(error)
        except BarnabasError as error:
            return refusal(store_failed(str(error)))

    async def _answer(self, route: RegistryRoute, call: Call) -> Response:
        deadline = monotonic() + _PATIENCE_S
        last: Exception | None = None
        while monotonic() < deadline:
            try:
                return await self._here(route, call)
            except WriterLostError as error:
                last = error
            try:
                found = await self._elsewhere(call.request)
            except BarnabasError as error:
                _log.warning("a change has to wait: %s", error)
                last, found = error, None
            if found is not None:
                return found
            await asyncio.sleep(_PAUSE_S)
        raise no_writer(f"{last}; send the request again")

    async def _here(self, route: RegistryRoute, call: Call) -> Response:
        """Answer by what this instance knows; what it does not find, it looks for in the log."""
        instance = self._instance
        seen = instance.log.next_offset
        try:
            found = await route.call(instance, call)
        except RegistryRefusal as error:
            if error.code not in _NOT_FOUND or not await self._has_more_than(seen):
                raise
            found = await route.call(instance, call)
        if FORWARDED not in call.request.headers:
            return found
        offset = str(instance.log.next_offset - 1)
        return Response(found.status, found.body, {**found.headers, OFFSET: offset})

    async def _has_more_than(self, seen: int) -> bool:
        try:
            await self._instance.log.catch_up(_CATCH_UP_S)
        except BarnabasError:
            return False  # reads are answered while brokers are down
        return self._instance.log.next_offset > seen

    async def _elsewhere(self, request: Request) -> Response | None:
        """What the writer answers; None if this instance is to try again, maybe as the writer."""
        instance = self._instance
        writer = instance.writer
        if FORWARDED in request.headers:
            return error_answer(_MISDIRECTED, "this instance does not write")
        former = instance.image.writer
        if former not in (None, writer.url):
            assert former is not None
            if is_known(former, writer.url, instance.settings.instances):
                try:
                    found = await forward(request, former)
                except WriterGoneError as error:
                    _log.info("the writer is gone: %s", error)
                else:
                    if found.status is not _MISDIRECTED:
                        return await self._as_seen_here(found)
                    await instance.log.catch_up(_PATIENCE_S)
        await writer.take_over(former)
        return None

    async def _as_seen_here(self, found: Response) -> Response:
        headers = dict(found.headers)
        offset = headers.pop(OFFSET, None)
        if offset is not None:
            await self._instance.log.reach(int(offset), _PATIENCE_S)
        return Response(found.status, found.body, headers)


def _route(call: Call) -> RegistryRoute:
    """The route of a request; raises `HttpError`."""
    methods = []
    for route in ROUTES:
        parts = tuple(filter(None, route.path.split("/")))
        if len(parts) == len(call.path) and all(
            part in ("*", given) for part, given in zip(parts, call.path, strict=True)
        ):
            method = call.request.method
            if route.method == method or (method, route.method) == ("HEAD", "GET"):
                return route
            methods.append(route.method)
    if methods:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "HTTP 405 Method Not Allowed")
    raise HttpError(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")
