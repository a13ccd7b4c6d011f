"""Subjects of a schema registry: listed, two versions compared, a change checked.

The registry is asked as the console, so who is signed in has to be allowed to see the cluster.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from barnabas.console.access.permission import check_cluster_access
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import PAGE, SEARCH
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.outside import OutsideCalls
from barnabas.console.schemas.versions import line_differences, readable
from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.wire.acl_codes import AclOperation

SUBJECT = Parameter("subject", "string", "Name of the subject.", required=True)
CALLS = OutsideCalls(4)
_TIMEOUT_S = 10.0
_SIZE = 25
_NOT_FOUND = range(40400, 40500)
_SUFFIXES = ("-value", "-key")


class ShownVersion(NamedTuple):
    """A schema of a subject."""

    number: int
    schema_id: int
    kind: str
    text: str
    refers_to: list[str]
    """Subjects."""


async def list_subjects(call: Call) -> Mapping[str, object]:
    if call.options.registry_url is None:
        return {"configured": False, "total": 0, "page": 1, "size": _SIZE, "subjects": []}
    registry = await _registry(call)
    words = call.text("search").lower().split()
    names = [
        each
        for each in sorted(await _ask(registry.call, "GET", "subjects"))
        if all(word in each.lower() for word in words)
    ]
    page = call.number("page")
    shown = names[(page - 1) * _SIZE : page * _SIZE]
    return {
        "configured": True,
        "total": len(names),
        "page": page,
        "size": _SIZE,
        "subjects": await asyncio.gather(*(_ask(_row, registry, each) for each in shown)),
    }


async def show_subject(call: Call) -> Mapping[str, object]:
    registry, subject = await _registry(call), call.text("subject")
    versions = await _ask(registry.call, "GET", "subjects", subject, "versions")
    latest = await _ask(_version, registry, subject, "latest")
    looked = await call.cluster.watch.look()
    topics = set() if looked is None else {each.name for each in looked.topics}
    return {
        "subject": subject,
        "versions": versions,
        "latest": latest._asdict(),
        "compatibility": await _ask(_level, registry, subject),
        "topics": sorted({_topic_of(subject), subject} & topics),
        "referenced_by": await _ask(_referring, registry, subject),
    }


async def compare_versions(call: Call) -> Mapping[str, object]:
    """Two versions, line by line."""
    registry, subject = await _registry(call), call.text("subject")
    left, right = await asyncio.gather(
        *(_ask(_version, registry, subject, call.text(side)) for side in ("left", "right"))
    )
    lines = await asyncio.to_thread(line_differences, left.text, right.text)
    return {"left": left._asdict(), "right": right._asdict(), "lines": lines}


async def check_schema(call: Call) -> Mapping[str, object]:
    """Whether a schema could be registered."""
    registry, subject = await _registry(call), call.text("subject")
    latest = await _ask(registry.call, "GET", "subjects", subject, "versions", "latest")
    body = {
        "schema": call.text("schema"),
        "schemaType": latest.get("schemaType", "AVRO"),
        "references": latest.get("references", []),
    }
    path = ("compatibility", "subjects", subject, "versions")
    found = await _ask(partial(registry.call, body=body, verbose="true"), "POST", *path)
    return {"compatible": bool(found["is_compatible"]), "reasons": found.get("messages", [])}


async def _registry(call: Call) -> RegistryClient:
    """Raises `ApiError`."""
    if call.options.registry_url is None:
        raise ApiError(
            HTTPStatus.CONFLICT,
            "this console knows no schema registry",
            "Start it with --registry URL.",
        )
    await check_cluster_access(call, AclOperation.DESCRIBE)
    return RegistryClient(call.options.registry_url, _TIMEOUT_S)


async def _ask(function: Any, *arguments: Any) -> Any:
    """Call what blocks. Raises `ApiError` for what the registry refuses."""
    try:
        return await CALLS.run(partial(function, *arguments))
    except RegistryAnswerError as error:
        is_absent = error.code in _NOT_FOUND
        status = HTTPStatus.NOT_FOUND if is_absent else HTTPStatus.BAD_REQUEST
        raise ApiError(status, str(error), "" if is_absent else "The registry says so.") from None
    except (KeyError, TypeError, AttributeError):
        raise ApiError(
            HTTPStatus.BAD_GATEWAY,
            "the registry does not answer as a schema registry does",
            "Check --registry.",
        ) from None


def _row(registry: RegistryClient, subject: str) -> Mapping[str, object]:
    versions: Any = registry.call("GET", "subjects", subject, "versions")
    latest = _version(registry, subject, "latest")
    return {
        "subject": subject,
        "versions": len(versions),
        "version": latest.number,
        "id": latest.schema_id,
        "type": latest.kind,
    }


def _version(registry: RegistryClient, subject: str, number: str) -> ShownVersion:
    found: Any = registry.call("GET", "subjects", subject, "versions", number)
    kind = str(found.get("schemaType") or "AVRO")
    return ShownVersion(
        int(found["version"]),
        int(found["id"]),
        kind,
        readable(kind, str(found["schema"])),
        [str(each["subject"]) for each in found.get("references") or []],
    )


def _level(registry: RegistryClient, subject: str) -> str:
    found: Any = registry.call("GET", "config", subject, defaultToGlobal="true")
    return str(found["compatibilityLevel"])


def _referring(registry: RegistryClient, subject: str) -> list[str]:
    """Subjects with a schema that refers to the latest version."""
    path = ("subjects", subject, "versions", "latest", "referencedby")
    ids: Any = registry.call("GET", *path)
    names: set[str] = set()
    for each in ids[:_SIZE]:
        found: Any = registry.call("GET", "schemas", "ids", str(each), "subjects")
        names.update(map(str, found))
    return sorted(names)


def _topic_of(subject: str) -> str:
    """The topic whose keys or values have the schema, by the usual naming."""
    for each in _SUFFIXES:
        if subject.endswith(each):
            return subject.removesuffix(each)
    return subject


_VERSION = "Number, or latest."
ENDPOINTS = (
    Endpoint(
        "GET", "/api/schemas", "Subjects of the schema registry.", list_subjects, (SEARCH, PAGE)
    ),
    Endpoint("GET", "/api/schemas/subject", "One subject.", show_subject, (SUBJECT,)),
    Endpoint(
        "GET",
        "/api/schemas/differences",
        "Two versions of a subject, line by line.",
        compare_versions,
        (
            SUBJECT,
            Parameter("left", "string", _VERSION, required=True),
            Parameter("right", "string", _VERSION, required=True),
        ),
    ),
    Endpoint(
        "POST",
        "/api/schemas/check",
        "Whether a schema could become the next version of a subject. Nothing is registered.",
        check_schema,
        body=(SUBJECT, Parameter("schema", "string", "The text of the schema.", required=True)),
    ),
)
