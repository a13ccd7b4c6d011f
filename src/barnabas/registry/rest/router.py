"""Who may ask, and where changes are made.

An instance that does not write forwards a change to the one that does, or becomes the writer itself
if that one is gone or can't be forwarded to. Then it waits until it has read what was written, so
that its own clients see their changes.
"""

import asyncio
import logging
from dataclasses import replace
from http import HTTPStatus
from time import monotonic

from barnabas.errors import BarnabasError
from barnabas.registry.access.access import RegistryAccess
from barnabas.registry.forwarding import FORWARDED, OFFSET, WriterGoneError, forward
from barnabas.registry.model.errors import RegistryRefusal, no_writer, store_failed
from barnabas.registry.model.names import SubjectName, context_name
from barnabas.registry.rest.answers import error_answer, refusal
from barnabas.registry.rest.call import Call, parse_call
from barnabas.registry.rest.caller_quota import CallerQuota
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.rest.routes import RegistryRoute, find_route
from barnabas.registry.writer import WriterLostError
from barnabas.security.address import canonical_address
from barnabas.web.known_instances import is_known
from barnabas.web.messages import Request, Response

_log = logging.getLogger("barnabas.registry")
_audit = logging.getLogger("barnabas.registry.audit")
_PATIENCE_S = 15.0
_PAUSE_S = 0.02
_CATCH_UP_S = 1.0
_NOT_FOUND = range(40400, 40500)
_SHOWN = 200
_MISDIRECTED = HTTPStatus.MISDIRECTED_REQUEST


class RegistryRouter:
    """Answers requests."""

    def __init__(self, instance: RegistryInstance, access: RegistryAccess | None = None) -> None:
        """`access` is for callers who have to sign in."""
        self._instance = instance
        self._access = access
        per_second = instance.settings.requests_per_second
        self._quota = None if per_second is None else CallerQuota(per_second)

    async def __call__(self, request: Request) -> Response:
        call = parse_call(request)
        route = find_route(call)
        began = monotonic()
        found = await self._refusing(route, call)
        taken_s = monotonic() - began
        self._instance.requests.add(route.method, route.path, int(found.status), taken_s)
        return found

    async def _refusing(self, route: RegistryRoute, call: Call) -> Response:
        """The answer, or the refusal."""
        request = call.request
        try:
            if self._access is not None and not route.is_open:
                call = replace(call, caller=await self._access.caller(request))
            # Anyone can say that a request is forwarded: users who sign in are counted anyway.
            is_counted = call.caller is not None or FORWARDED not in request.headers
            if self._quota is not None and not route.is_open and is_counted:
                self._quota.take(_name(call), monotonic())
            if call.caller is not None and route.operation is not None:
                call.check(route.operation, _subject(self._instance, call))
            found = await self._answer(route, call)
        except RegistryRefusal as error:
            return refusal(error)
        except BarnabasError as error:
            return refusal(store_failed(str(error)))
        if route.changes and found.status < HTTPStatus.MULTIPLE_CHOICES:
            _log_change(call, found)
        return found

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


def _subject(instance: RegistryInstance, call: Call) -> str:
    """What the path is about: a subject, a context, or all of them."""
    match call.path[0]:
        case "subjects":
            return instance.subject(call)
        case "compatibility":
            return instance.subject(call, 2)
        case "contexts":
            return SubjectName(context_name(call.path[1]), "").qualified
        case _:
            return call.scope or ""


def _name(call: Call) -> str:
    """Whose quota counts."""
    if call.caller is not None:
        return f"user {call.caller.user}"
    return canonical_address(call.request.peer)


def _log_change(call: Call, found: Response) -> None:
    """With the answer: the id of a schema, the versions that were deleted, or the setting."""
    user = "anonymous" if call.caller is None else call.caller.user
    request, body = call.request, b"".join(found.parts).decode()
    forwarded = ", forwarded" if FORWARDED in request.headers else ""  # as its sender says
    where = f"{request.peer}{forwarded}"
    shown = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}…"
    _audit.info("%s at %s: %s %s: %s", user, where, request.method, request.target, shown)
