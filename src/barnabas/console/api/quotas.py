"""Quotas of users, client ids and addresses: listed, set and removed."""

from http import HTTPStatus
from typing import Any

from barnabas.client.admin.quotas import QuotaEntity, alter_quotas, describe_quotas
from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call, Endpoint, Parameter

KEYS = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
    *("controller_mutation_rate", "connection_creation_rate"),
)


async def list_quotas(call: Call) -> dict[str, Any]:
    return {
        "keys": KEYS,
        "quotas": [
            {
                "entity": str(each.entity),
                **each.entity._asdict(),
                "limits": dict(each.limits),
            }
            for each in await describe_quotas(call.cluster.client)
        ],
    }


async def set_quotas(call: Call) -> dict[str, Any]:
    entity = QuotaEntity(
        call.text("user") or None, call.text("client_id") or None, call.text("address") or None
    )
    limits = call.given("limits")
    for name, value in limits.items():
        is_limit = value is None or (isinstance(value, int | float) and value > 0)
        if name not in KEYS or isinstance(value, bool) or not is_limit:
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                f"{name}: expected a number above 0, or nothing to remove it",
                f"Limits are {', '.join(KEYS)}.",
            )
    await alter_quotas(call.cluster.client, entity, limits)
    return {"set": str(entity)}


ENDPOINTS = (
    Endpoint("GET", "/api/quotas", "Quotas.", list_quotas),
    Endpoint(
        "PUT",
        "/api/quotas",
        "Set limits of a user, client id or address; null removes one.",
        set_quotas,
        body=(
            Parameter("user", "string", "Name, or <default> for all others."),
            Parameter("client_id", "string", "Client id, or <default>."),
            Parameter("address", "string", "Address of clients, or <default>."),
            Parameter("limits", "object", "By name of the limit.", required=True),
        ),
        changes=True,
    ),
)
