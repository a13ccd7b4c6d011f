"""Responses and errors in Confluent's shape."""

import json
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from barnabas.registry.model.contents import Json
from barnabas.registry.model.entries import SchemaVersion, content_json
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.web.messages import Response

_TYPE = "application/vnd.schemaregistry.v1+json"
_PER_STATUS = 100
_CHALLENGE = 'Basic realm="schema registry", charset="UTF-8"'


def answer(value: Json, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """A value as JSON."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(status, body, {"Content-Type": _TYPE})


def raw(text: str) -> Response:
    """A schema alone."""
    return Response(HTTPStatus.OK, text.encode(), {"Content-Type": _TYPE})


def refusal(error: RegistryRefusal) -> Response:
    """The status is in the code: 40401 is a 404."""
    status = HTTPStatus(error.code // _PER_STATUS)
    found = answer({"error_code": error.code, "message": str(error)}, status)
    if status is HTTPStatus.UNAUTHORIZED:
        return replace(found, headers={**found.headers, "WWW-Authenticate": _CHALLENGE})
    if error.retry_after_s is not None:
        return replace(found, headers={**found.headers, "Retry-After": str(error.retry_after_s)})
    return found


def error_answer(status: HTTPStatus, message: str) -> Response:
    """An error without a code of its own."""
    return answer({"error_code": int(status), "message": message}, status)


def schema_json(entry: SchemaVersion, text: str, *, every_field: bool) -> dict[str, Json]:
    """A version of a subject. Older clients break at fields that they do not know."""
    found: dict[str, Json] = {
        "subject": entry.subject,
        "version": entry.version,
        "id": entry.id,
        **content_json(entry.content),
        "schema": text,
    }
    if every_field:
        found["guid"] = entry.content.guid
        if entry.deleted:
            found["deleted"] = True
    return found


def page(values: Sequence[Json], offset: int, limit: int) -> list[Json]:
    """A part of a list; a limit below 1 is none."""
    end = offset + limit if limit > 0 else None
    return list(values[offset:end])
