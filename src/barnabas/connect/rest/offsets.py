"""`/connectors/NAME/offsets`: positions, which are in Spark's checkpoints."""

import asyncio
from http import HTTPStatus

from barnabas.connect.positions import folder_of, offsets_of
from barnabas.connect.rest.answers import ApiError, Request, Response, answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.errors import BarnabasError


async def get_offsets(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/offsets."""
    name = request.path[1]
    context.definition(name)
    folder = folder_of(context.settings.checkpoints, context.settings.logs)
    try:
        return answer({"offsets": await asyncio.to_thread(offsets_of, folder, name)})
    except BarnabasError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None


async def delete_offsets(context: ApiContext, request: Request) -> Response:
    """DELETE /connectors/NAME/offsets: a stopped connector begins anew."""
    name = request.path[1]
    definition = context.definition(name)
    _check_stopped(context, name)
    try:
        await context.runner.reset(name, definition.config)
    except BarnabasError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None
    message = f"The offsets for connector {name} have been reset successfully"
    return answer({"message": message})


async def patch_offsets(context: ApiContext, request: Request) -> Response:
    """PATCH /connectors/NAME/offsets is refused: Spark's checkpoint can't be given a position."""
    name = request.path[1]
    context.definition(name)
    raise ApiError(
        HTTPStatus.BAD_REQUEST,
        f"the position of connector {name} can't be set: it is in a checkpoint of Spark. DELETE "
        "resets it; then source.starting.offsets in its config says where to begin",
    )


def _check_stopped(context: ApiContext, name: str) -> None:
    found = context.topics.status(name)
    if context.definition(name).target != "STOPPED" or (found and found.state != "STOPPED"):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            "Connectors must be in the STOPPED state before their offsets can be modified. This "
            f"can be done for connector {name} with PUT /connectors/{name}/stop",
        )
