"""Users and access rules."""

from http import HTTPStatus
from typing import Any

from barnabas.client.admin.acls import AclBinding, create_acls, delete_acls, describe_acls
from barnabas.client.admin.users import (
    SCRAM_MECHANISMS,
    describe_users,
    remove_credentials,
    set_password,
)
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import CONFIRM
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.metadata.acl import AclFilter
from barnabas.security.sasl.scram_credential import DEFAULT_ITERATIONS

_RULE = (
    Parameter("principal", "string", "User:NAME, or User:* for all.", required=True),
    Parameter("operation", "string", "As READ, WRITE, ALL.", required=True),
    Parameter("resource_type", "string", "TOPIC, GROUP, CLUSTER, …", required=True),
    Parameter("resource_name", "string", "Name, prefix, or *.", required=True),
    Parameter("pattern_type", "string", "LITERAL or PREFIXED.", "LITERAL"),
    Parameter("host", "string", "Address of clients, or *.", "*"),
    Parameter("permission", "string", "ALLOW or DENY.", "ALLOW", choices=("ALLOW", "DENY")),
)
_NAME = Parameter("name", "string", "Name of the user.", required=True)


async def list_users(call: Call) -> dict[str, Any]:
    users = await describe_users(call.cluster.client)
    return {
        "users": [
            {"name": name, "mechanisms": [str(item) for item in each.mechanisms]}
            for name, each in sorted(users.items())
        ]
    }


async def put_user(call: Call) -> dict[str, Any]:
    await set_password(
        call.cluster.client,
        call.text("name"),
        call.text("password"),
        mechanisms=SCRAM_MECHANISMS,
        iterations=DEFAULT_ITERATIONS,
    )
    return {"saved": call.text("name")}


async def delete_user(call: Call) -> dict[str, Any]:
    name = call.text("name")
    if call.text("confirm") != name:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "what was typed is not the name of the user", f"Type {name}."
        )
    found = (await describe_users(call.cluster.client, [name])).get(name)
    if found is None:
        raise ApiError(HTTPStatus.NOT_FOUND, f"there is no user {name}")
    await remove_credentials(call.cluster.client, name, found.mechanisms)
    return {"deleted": name}


async def list_acls(call: Call) -> dict[str, Any]:
    rules = map(AclBinding.of, await describe_acls(call.cluster.client, AclFilter()))
    return {"acls": [each._asdict() for each in rules]}


async def create_acl(call: Call) -> dict[str, Any]:
    await create_acls(call.cluster.client, [_binding(call).acl])
    return {"created": 1}


async def delete_acl(call: Call) -> dict[str, Any]:
    deleted = await delete_acls(call.cluster.client, [AclFilter(*_binding(call).acl)])
    return {"deleted": len(deleted)}


def _binding(call: Call) -> AclBinding:
    return AclBinding(**{each.name: call.text(each.name) for each in _RULE})


ENDPOINTS = (
    Endpoint("GET", "/api/users", "Users that sign in by SCRAM.", list_users),
    Endpoint(
        "PUT",
        "/api/users",
        "Add a user, or give it another password.",
        put_user,
        body=(_NAME, Parameter("password", "string", "Password.", required=True, secret=True)),
        changes=True,
    ),
    Endpoint(
        "DELETE", "/api/users", "Remove a user.", delete_user, body=(_NAME, CONFIRM), changes=True
    ),
    Endpoint("GET", "/api/acls", "Access rules.", list_acls),
    Endpoint("POST", "/api/acls", "Create an access rule.", create_acl, body=_RULE, changes=True),
    Endpoint("DELETE", "/api/acls", "Delete an access rule.", delete_acl, body=_RULE, changes=True),
)
