"""`/connectors/NAME/…`: pause, resume, stop, restart, and which topics it has used."""

from dataclasses import replace
from http import HTTPStatus

from barnabas.connect.rest.answers import ApiError, answer, nothing
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.connectors import status
from barnabas.connect.state.records import Target, status_key, target_key
from barnabas.web.messages import Request, Response


async def pause(context: ApiContext, request: Request) -> Response:
    """PUT /connectors/NAME/pause."""
    return await _set_target(context, request, "PAUSED")


async def resume(context: ApiContext, request: Request) -> Response:
    """PUT /connectors/NAME/resume."""
    return await _set_target(context, request, "STARTED")


async def stop(context: ApiContext, request: Request) -> Response:
    """PUT /connectors/NAME/stop."""
    return await _set_target(context, request, "STOPPED")


async def restart(context: ApiContext, request: Request) -> Response:
    """POST /connectors/NAME/restart, with `includeTasks` and `onlyFailed`.

    A connector and its tasks are one here, so they are restarted together. Without `includeTasks`
    nothing else is said, as in Kafka Connect.
    """
    name = request.path[1]
    context.definition(name)
    shown = status(context, name)
    has_failed = "FAILED" in {each["state"] for each in (shown["connector"], *shown["tasks"])}
    if has_failed or not request.flag("onlyFailed"):
        context.runner.restart(name)
        for each in (shown["connector"], *shown["tasks"]):
            each["state"] = "RESTARTING"
    if not request.flag("includeTasks") and not request.flag("onlyFailed"):
        return nothing()
    return answer(shown, HTTPStatus.ACCEPTED)


async def restart_task(context: ApiContext, request: Request) -> Response:
    """POST /connectors/NAME/tasks/N/restart: all tasks of the connector are restarted."""
    name, number = request.path[1], request.path[3]
    context.definition(name)
    if number not in {str(each["id"]) for each in status(context, name)["tasks"]}:
        raise ApiError(HTTPStatus.NOT_FOUND, f"Unknown task: {name}-{number}")
    context.runner.restart(name)
    return nothing()


async def reset_topics(context: ApiContext, request: Request) -> Response:
    """PUT /connectors/NAME/topics/reset: forget them until it starts again."""
    name = request.path[1]
    context.definition(name)
    found = context.topics.status(name)
    if found is not None:
        await context.leadership.write(
            {status_key(name): replace(found, topics=()).value()}, context.settings.status_topic
        )
        context.runner.forget_topics(name)
    return Response()


async def _set_target(context: ApiContext, request: Request, target: Target) -> Response:
    name = request.path[1]
    async with context.lock(name):
        if context.definition(name).target != target:
            await context.write_configs({target_key(name): {"state": target}})
    return nothing(HTTPStatus.ACCEPTED)
