"""Asks a pipeline that runs elsewhere to stop or to restart, by a record in a topic.

It is written with the user's own rights: the access rules of that topic decide.
"""

from http import HTTPStatus
from time import time
from typing import Any, cast
from uuid import uuid4

from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.flow.reports import LOST_AFTER_S
from barnabas.flow.requests import (
    ACTIONS,
    CONTROLLED,
    PARTITION,
    TOPIC,
    Action,
    PipelineRequest,
    encode,
)

_RUNS = ("running", "waiting")


async def ask_pipeline(call: Call) -> dict[str, Any]:
    """The id of the request: reports of the pipeline name it when it was obeyed."""
    await call.cluster.watch.look()
    key, action = call.text("id"), cast("Action", call.text("action"))
    one = call.cluster.watch.pipelines.followed.get(key)
    if one is None:
        raise ApiError(
            HTTPStatus.NOT_FOUND,
            "there is no such pipeline",
            "Look at the list of pipelines; only those that report can be asked.",
        )
    name, connector = one.report["pipeline"], one.report["connector"]
    if connector is not None:
        raise ApiError(
            HTTPStatus.CONFLICT,
            f"{name} is of the connector {connector}",
            "Start, stop or restart the connector.",
        )
    is_heard = time() * 1000 - one.heard_ms <= LOST_AFTER_S * 1000
    pid = one.report["pid"]
    if one.report["control"] != CONTROLLED or not is_heard or not isinstance(pid, int):
        raise ApiError(
            HTTPStatus.CONFLICT,
            f"{name} takes no requests",
            f"Its process has ended, was started with --no-control, or may not read {TOPIC}; "
            f"start and stop it on {one.report['host']}.",
        )
    if action == "stop" and one.state not in _RUNS:
        raise ApiError(HTTPStatus.CONFLICT, f"{name} does not run: it is {one.state}")
    request = PipelineRequest(str(uuid4()), key, pid, action)
    sent = await call.cluster.producer().send(
        TOPIC, encode(request), key.encode(), partition=PARTITION
    )
    await sent
    call.cluster.watch.changed()
    return {"request": request.id}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/pipeline/requests",
        "Ask a running pipeline to stop, or to restart with its definition as it is now.",
        ask_pipeline,
        body=(
            Parameter("id", "string", "Its id.", required=True),
            Parameter("action", "string", "What to do.", required=True, choices=ACTIONS),
        ),
        changes=True,
    ),
)
