"""Connectors that are created, changed, started, stopped and deleted."""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from barnabas.connect.rest_client import RestClient, RestError
from barnabas.console.access.permission import check_cluster_access
from barnabas.console.answers import ApiError
from barnabas.console.api.connectors import CALLS, service_of
from barnabas.console.api.parameters import CONFIRM
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.security.hidden_values import with_secrets
from barnabas.security.secret_settings import without_secrets_of
from barnabas.wire.acl_codes import AclOperation

_ACTIONS = {"pause": "PUT", "resume": "PUT", "stop": "PUT", "restart": "POST"}
_NAME = Parameter("name", "string", "Name of the connector.", required=True)
_CONFIG = Parameter(
    "config", "object", "Its settings; null takes one away, hidden ones stay.", required=True
)


async def control_connector(call: Call) -> dict[str, Any]:
    name, action = call.text("name"), call.text("action")
    await _ask(call, lambda client: client.call(_ACTIONS[action], "connectors", name, action))
    return {"done": action}


async def create_connector(call: Call) -> dict[str, Any]:
    """Create it; with `like`, settings that are hidden are those of another connector."""
    name, like = call.text("name"), call.text("like")
    config: dict[str, str] = {}

    def create(client: RestClient) -> None:
        known = client.call("GET", "connectors", like, "config") if like else {}
        config.update(settings_after(known, call.given("config"), keep=False), name=name)
        client.call("POST", "connectors", body={"name": name, "config": config})

    await _ask(call, create, config)
    return {"created": name}


async def change_connector(call: Call) -> dict[str, Any]:
    name = call.text("name")
    config: dict[str, str] = {}

    def change(client: RestClient) -> None:
        known = client.call("GET", "connectors", name, "config")
        config.update(settings_after(known, call.given("config"), keep=True))
        client.call("PUT", "connectors", name, "config", body=config)

    await _ask(call, change, config)
    return {"changed": name}


async def delete_connector(call: Call) -> dict[str, Any]:
    name = call.text("name")
    if call.text("confirm") != name:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "what was typed is not the connector's name", f"Type {name}."
        )
    await _ask(call, lambda client: client.call("DELETE", "connectors", name))
    return {"deleted": name}


def settings_after(known: dict[str, Any], changes: dict[str, Any], *, keep: bool) -> dict[str, str]:
    """The settings afterwards. What was hidden from the page stays as it is; raises `ApiError`."""
    config = dict(known) if keep else {}
    for name, value in changes.items():
        if value is None:
            config.pop(name, None)
        else:
            before = known.get(name)
            try:
                kept = None if before is None else str(before)
                config[name] = with_secrets(name, kept, str(value))
            except ValueError as error:
                raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None
    return config


async def _ask(
    call: Call, what: Callable[[RestClient], object], config: Mapping[str, str] | None = None
) -> None:
    """Its errors may quote settings, also those that this user does not see."""
    client = service_of(call)
    await check_cluster_access(call, AclOperation.ALTER)
    try:
        await CALLS.run(partial(what, client))
    except RestError as error:
        is_ours = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        status = HTTPStatus(error.status) if is_ours else HTTPStatus.BAD_GATEWAY
        said = without_secrets_of(str(error), config or {})
        raise ApiError(status, said, "The Connect service says so.") from None


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/connectors/{name}/{action}",
        "Pause, resume, stop or restart a connector.",
        control_connector,
        (
            _NAME,
            Parameter("action", "string", "What to do.", required=True, choices=tuple(_ACTIONS)),
        ),
        changes=True,
    ),
    Endpoint(
        "POST",
        "/api/connectors",
        "Create a connector.",
        create_connector,
        body=(
            _NAME,
            _CONFIG,
            Parameter("like", "string", "A connector that hidden settings are taken from."),
        ),
        changes=True,
    ),
    Endpoint(
        "PUT",
        "/api/connectors/{name}",
        "Change settings of a connector.",
        change_connector,
        (_NAME,),
        (_CONFIG,),
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/api/connectors/{name}",
        "Delete a connector.",
        delete_connector,
        (_NAME,),
        (CONFIRM,),
        changes=True,
    ),
)
