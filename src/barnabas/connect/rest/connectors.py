"""`/connectors`: what there is, and what it is told to be."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from barnabas.connect.config_check import config_errors
from barnabas.connect.rest.answers import ApiError, answer, nothing, texts
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.state.records import (
    Definition,
    Target,
    definition_key,
    reset_key,
    start_key,
    status_key,
    target_key,
)
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.connector import direction_of
from barnabas.spark.pipelines.connectors.pipeline_files import FILE
from barnabas.web.messages import Request, Response

_INITIAL: dict[str, Target] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}


async def list_connectors(context: ApiContext, request: Request) -> Response:
    """GET /connectors, with `expand=info` and `expand=status`."""
    wanted = {each for given in request.query.get("expand", []) for each in given.split(",")}
    if not wanted:
        return answer(list(context.topics.definitions))
    found = {}
    for name, definition in context.topics.definitions.items():
        parts: dict[str, Any] = {}
        if "info" in wanted:
            parts["info"] = info(context, name, definition)
        if "status" in wanted:
            parts["status"] = status(context, name)
        found[name] = parts
    return answer(found)


async def create(context: ApiContext, request: Request) -> Response:
    """POST /connectors."""
    body = request.json_object()
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ApiError(HTTPStatus.BAD_REQUEST, "name is missing: the connector's name")
    unknown = body.keys() - {"name", "config", "initial_state"}
    if unknown:
        raise ApiError(HTTPStatus.BAD_REQUEST, f"unknown field {min(unknown)!r}")
    initial = str(body.get("initial_state") or "RUNNING").upper()
    if initial not in _INITIAL:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, f"initial_state is RUNNING, PAUSED or STOPPED, not {initial!r}"
        )
    config = _named(name.strip(), texts(body.get("config")))
    async with context.lock(name.strip()):
        if context.topics.definition(name.strip()) is not None:
            raise ApiError(HTTPStatus.CONFLICT, f"Connector {name.strip()} already exists")
        return await _put(context, name.strip(), config, _INITIAL[initial])


async def get(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME."""
    name = request.path[1]
    return answer(info(context, name, context.definition(name)))


async def get_config(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/config."""
    return answer(context.definition(request.path[1]).config)


async def put_config(context: ApiContext, request: Request) -> Response:
    """PUT /connectors/NAME/config: change it, or create it."""
    name = request.path[1]
    config = _named(name, texts(request.json_object()))
    async with context.lock(name):
        return await _put(context, name, config)


async def patch_config(context: ApiContext, request: Request) -> Response:
    """PATCH /connectors/NAME/config: null takes a setting away."""
    name = request.path[1]
    changes = request.json_object()
    given = texts({key: each for key, each in changes.items() if each is not None})
    async with context.lock(name):
        config = {**context.definition(name).config, **given}
        for key in [key for key, each in changes.items() if each is None]:
            config.pop(key, None)
        return await _put(context, name, _named(name, config))


async def get_status(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/status."""
    context.definition(request.path[1])
    return answer(status(context, request.path[1]))


async def get_tasks(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/tasks."""
    name = request.path[1]
    config = context.definition(name).config
    return answer([{"id": each, "config": config} for each in _task_ids(context, name)])


async def get_task_status(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/tasks/N/status."""
    name, number = request.path[1], request.path[3]
    context.definition(name)
    for each in status(context, name)["tasks"]:
        if str(each["id"]) == number:
            return answer(each)
    raise ApiError(HTTPStatus.NOT_FOUND, f"No status found for task {name}-{number}")


async def get_topics(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/topics: those that it has read or written since the last reset."""
    name = request.path[1]
    context.definition(name)
    found = context.topics.status(name)
    return answer({name: {"topics": [] if found is None else list(found.topics)}})


async def delete(context: ApiContext, request: Request) -> Response:
    """DELETE /connectors/NAME. Its checkpoint stays, as offsets do in Kafka Connect."""
    name = request.path[1]
    async with context.lock(name):
        context.definition(name)
        keys = (definition_key(name), target_key(name), start_key(name), reset_key(name))
        await context.write_configs(dict.fromkeys(keys))
        await context.leadership.write({status_key(name): None}, context.settings.status_topic)
    return nothing()


def info(context: ApiContext, name: str, definition: Definition) -> dict[str, Any]:
    """A connector as `GET /connectors/NAME` shows it."""
    return {
        "name": name,
        "config": definition.config,
        "tasks": _task_ids(context, name),
        "type": _type(definition),
    }


def status(context: ApiContext, name: str) -> dict[str, Any]:
    """Its status; UNASSIGNED while nothing is known of it."""
    definition = context.definition(name)
    found = context.topics.status(name)
    if found is None:
        connector: dict[str, Any] = {"state": "UNASSIGNED", "worker_id": ""}
        return {"name": name, "connector": connector, "tasks": [], "type": _type(definition)}
    worker = {"worker_id": found.worker_id}
    return {
        "name": name,
        "connector": {"state": found.state, **worker, **_trace(found.trace)},
        "tasks": [
            {"id": at, "state": each.state, **worker, **_trace(each.trace)}
            for at, each in enumerate(found.tasks)
        ],
        "type": _type(definition),
    }


def _trace(trace: str | None) -> dict[str, str]:
    return {} if trace is None else {"trace": trace}


def _task_ids(context: ApiContext, name: str) -> list[dict[str, Any]]:
    found = context.topics.status(name)
    return [{"connector": name, "task": at} for at in range(len(found.tasks) if found else 0)]


def _type(definition: Definition) -> str:
    try:
        return direction_of(definition.config)
    except InvalidArgument:  # of a version that knew more
        return "unknown"


def _named(name: str, config: dict[str, str]) -> dict[str, str]:
    if config.setdefault("name", name) != name:
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            f"Connector name configuration ({config['name']}) doesn't match connector name in the "
            f"URL ({name})",
        )
    return config


async def _put(
    context: ApiContext, name: str, config: dict[str, str], target: Target | None = None
) -> Response:
    """Check the settings and write them; the caller holds the connector's lock."""
    _check_names(context, name, config)
    settings = context.settings
    errors = await config_errors(config, settings.pipelines, allow_code=settings.allow_code)
    if errors:
        messages = errors.messages()
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            f"Connector configuration is invalid and contains the following {len(messages)} "
            "error(s):\n" + "\n".join(messages) + "\nYou can also find the above list of errors at "
            "the endpoint `/connector-plugins/{connectorType}/config/validate`",
        )
    is_new = context.topics.definition(name) is None
    records: dict[str, Any] = {definition_key(name): {"properties": config}}
    if target is not None:
        records[target_key(name)] = {"state": target}
    await context.write_configs(records)
    shown = info(context, name, context.definition(name))
    if not is_new:
        return answer(shown)
    return answer(shown, HTTPStatus.CREATED, Location=f"/connectors/{quote(name)}")


def _check_names(context: ApiContext, name: str, config: Mapping[str, str]) -> None:
    """Refuse a name that is one of another connector's pipelines: they would share a checkpoint."""
    for other, definition in context.topics.definitions.items():
        for inner, outer, of_outer in (
            (name, other, definition.config),
            (other, name, config),
        ):
            if inner.startswith(f"{outer}.") and FILE in of_outer:
                raise ApiError(
                    HTTPStatus.BAD_REQUEST,
                    f"connector {inner} has the name of a pipeline in the file of connector "
                    f"{outer}; choose a name that does not begin with {outer}.",
                )
