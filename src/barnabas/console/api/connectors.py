"""Connectors of a Connect service, with their topics."""

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from barnabas.connect.rest_client import RestClient, RestError
from barnabas.console.access.permission import check_cluster_access
from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call, Endpoint
from barnabas.console.messages.masking import MASK, Masks
from barnabas.console.outside import OutsideCalls
from barnabas.security.secret_settings import shown_setting, without_secrets_of
from barnabas.wire.acl_codes import AclOperation

CALLS = OutsideCalls(8)
_READ_S = 10.0
_CHANGE_S = 90.0
_KIND = re.compile(r"[A-Za-z_][\w.$]*(?=:|$)", re.ASCII)
"""The class of an exception, as the last line of a trace begins."""


async def list_connectors(call: Call) -> dict[str, Any]:
    """Those of the service, with state, tasks, and the topics they read and write."""
    return {
        "configured": call.options.connect_url is not None,
        "connectors": await connectors_of(call),
    }


async def connectors_of(call: Call) -> list[dict[str, Any]]:
    """None if the console knows no service. Raises `BarnabasError`."""
    if call.options.connect_url is None:
        return []
    client = service_of(call, _READ_S)
    await check_cluster_access(call, AclOperation.DESCRIBE)
    query = "?expand=info&expand=status"
    found = await CALLS.run(partial(client.call, "GET", "connectors", query=query))
    names = sorted(found or {})
    topics = await asyncio.gather(*(CALLS.run(partial(_topics, client, name)) for name in names))
    masks = Masks(call.options.masks)
    return [
        shown_connector(name, found[name], used, masks)
        for name, used in zip(names, topics, strict=True)
    ]


def service_of(call: Call, timeout_s: float = _CHANGE_S) -> RestClient:
    """Raises `ApiError` if the console knows no service."""
    if call.options.connect_url is None:
        raise ApiError(
            HTTPStatus.CONFLICT,
            "this console knows no Connect service",
            "Start it with --connect URL.",
        )
    return RestClient(call.options.connect_url, timeout_s)


def _topics(client: RestClient, name: str) -> list[str]:
    try:
        answer = client.call("GET", "connectors", name, "topics")
    except RestError:  # it has not started yet
        return []
    return sorted(answer.get(name, {}).get("topics", []))


def shown_connector(
    name: str, found: dict[str, Any], topics: list[str], masks: Masks
) -> dict[str, Any]:
    config = found.get("info", {}).get("config", {})
    status = found.get("status", {})
    tasks = status.get("tasks", [])
    failed = [each for each in (status.get("connector", {}), *tasks) if each.get("trace")]
    return {
        "name": name,
        "type": found.get("info", {}).get("type") or status.get("type") or "unknown",
        "class": config.get("connector.class", ""),
        "state": status.get("connector", {}).get("state", "UNKNOWN"),
        "worker": status.get("connector", {}).get("worker_id"),
        "tasks": [{"id": each.get("id"), "state": each.get("state")} for each in tasks],
        "error": _error(str(failed[0]["trace"]), config, topics, masks) if failed else None,
        "topics": topics,
        "config": {key: shown_setting(key, str(each)) for key, each in sorted(config.items())},
    }


def _error(trace: str, config: Mapping[str, Any], topics: list[str], masks: Masks) -> str:
    """A trace may quote a record: of masked topics only the kind of the error is shown. So it is
    of a connector of which it is not known yet which topics it uses."""
    known = {*topics, *str(config.get("topics", "")).replace(" ", "").split(",")} - {""}
    if masks.is_empty or (known and not any(map(masks.cover, known))):
        return without_secrets_of(trace, config)
    last = trace.strip().splitlines()[-1:]
    kind = _KIND.match(last[0]) if last else None
    return f"{kind[0]}: {MASK}" if kind else MASK


ENDPOINTS = (Endpoint("GET", "/api/connectors", "Connectors with their topics.", list_connectors),)
