"""`/connector-plugins`: the kinds of connectors, their settings, and validation."""

from http import HTTPStatus

from barnabas import __version__
from barnabas.connect.config_check import config_validation
from barnabas.connect.rest.answers import ApiError, answer, texts
from barnabas.connect.rest.api_context import ApiContext
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.validation import (
    definitions,
    describe,
    plugins,
)
from barnabas.web.messages import Request, Response


async def list_plugins(_context: ApiContext, _request: Request) -> Response:
    """GET /connector-plugins."""
    return answer(plugins(__version__))


async def get_settings(_context: ApiContext, request: Request) -> Response:
    """GET /connector-plugins/NAME/config."""
    try:
        found = definitions(request.path[1])
    except InvalidArgument as error:
        raise ApiError(HTTPStatus.NOT_FOUND, str(error)) from None
    return answer([describe(each, order) for order, each in enumerate(found)])


async def validate(context: ApiContext, request: Request) -> Response:
    """PUT /connector-plugins/NAME/config/validate."""
    plugin = request.path[1]
    config = texts(request.json_object())
    given = config.setdefault("connector.class", plugin)
    if not given.endswith(plugin) and not given.endswith(f"{plugin}Connector"):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            f"Included connector type {given} does not match request type {plugin}",
        )
    try:
        found = await config_validation(
            plugin, config, context.settings.pipelines, allow_code=context.settings.allow_code
        )
    except InvalidArgument as error:
        raise ApiError(HTTPStatus.NOT_FOUND, str(error)) from None
    return answer(found)
