"""Transactions that are open, and those that hang: no coordinator will end them."""

from http import HTTPStatus
from time import time
from typing import Any

from barnabas.client.admin.active_producers import abort_transaction, find_hanging, led_partitions
from barnabas.client.admin.transactions import describe_transaction, list_transactions
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.errors import BrokerError
from barnabas.wire.errors import ErrorCode

_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
_SHOWN = 200
_IDLE_MS = 900_000
"""As long as a transaction may take by default: before that, one may just be ending."""


async def open_transactions(call: Call) -> dict[str, Any]:
    now_ms = int(time() * 1000)
    listed = await list_transactions(call.cluster.client, states=_OPEN)
    found = []
    for each in listed[:_SHOWN]:
        try:
            described = await describe_transaction(call.cluster.client, each.transactional_id)
        except BrokerError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            continue
        started = described.start_time_ms
        found.append(
            {
                "id": described.transactional_id,
                "state": described.state,
                "producer_id": described.producer_id,
                "timeout_ms": described.timeout_ms if described.has_timeout else None,
                "open_ms": None if started is None else max(0, now_ms - started),
                "partitions": [str(name) for name in described.partitions],
            }
        )
    return {"total": len(listed), "transactions": found}


async def hanging_transactions(call: Call) -> dict[str, Any]:
    client = call.cluster.client
    idle_since_ms = int(time() * 1000) - call.number("idle_ms")
    hanging = await find_hanging(client, await led_partitions(client), idle_since_ms=idle_since_ms)
    return {
        "hanging": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "producer_id": each.producer_id,
                "start_offset": each.transaction_start_offset,
                "last_ms": each.last_timestamp_ms,
            }
            for each in hanging
        ]
    }


async def abort_hanging(call: Call) -> dict[str, Any]:
    client = call.cluster.client
    name = TopicPartition(call.text("topic"), call.number("partition"))
    idle_since_ms = int(time() * 1000) - _IDLE_MS
    for each in await find_hanging(client, [name], idle_since_ms=idle_since_ms):
        if each.producer_id == call.number("producer_id"):
            await abort_transaction(client, each)
            return {"aborted": call.number("producer_id")}
    raise ApiError(
        HTTPStatus.CONFLICT,
        "this transaction does not hang, or no longer",
        "Reload the list; a transaction that goes on is ended by its producer.",
    )


ENDPOINTS = (
    Endpoint("GET", "/api/transactions", "Transactions that are open.", open_transactions),
    Endpoint(
        "GET",
        "/api/transactions/hanging",
        "Transactions that no coordinator will end.",
        hanging_transactions,
        (Parameter("idle_ms", "integer", "Idle for so long.", _IDLE_MS, minimum=1_000),),
    ),
    Endpoint(
        "POST",
        "/api/transactions/hanging/abort",
        "Roll back what hangs in a partition.",
        abort_hanging,
        body=(
            Parameter("topic", "string", "Topic.", required=True),
            Parameter("partition", "integer", "Partition.", required=True, minimum=0),
            Parameter("producer_id", "integer", "Producer.", required=True, minimum=0),
        ),
        changes=True,
    ),
)
