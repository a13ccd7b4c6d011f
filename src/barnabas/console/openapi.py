"""The OpenAPI document, from the declarations of the calls."""

from collections.abc import Iterable
from typing import Any

from barnabas import __version__
from barnabas.client.users.user_security import PASSWORD_MECHANISMS
from barnabas.console.access.tokens import TOKEN_HEADER
from barnabas.console.endpoint import Endpoint, Parameter

_TOKEN: dict[str, Any] = {
    "name": TOKEN_HEADER,
    "in": "header",
    "required": True,
    "description": "Of GET /api/session.",
    "schema": {"type": "string"},
}
_ERROR = {"description": "An error, with what to do."}
_SESSION_ANSWERS = {
    "200": {"description": "Who is signed in, and the token for changes."},
    "default": _ERROR,
}
_TEXT = {"type": "string"}
_CREDENTIALS = {
    "type": "object",
    "required": ["user", "password"],
    "properties": {
        "user": _TEXT,
        "password": _TEXT,
        "mechanism": {"type": "string", "enum": list(PASSWORD_MECHANISMS)},
    },
}
_SESSION: dict[str, Any] = {
    "get": {
        "operationId": "get_session",
        "summary": "Who is signed in, how one signs in, and the token for changes",
        "responses": _SESSION_ANSWERS,
    },
    "post": {
        "operationId": "sign_in",
        "summary": "Sign in; the answer sets a cookie",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _CREDENTIALS}},
        },
        "responses": _SESSION_ANSWERS,
    },
    "delete": {
        "operationId": "sign_out",
        "summary": "Sign out",
        "parameters": [_TOKEN],
        "responses": _SESSION_ANSWERS,
    },
}
"""What `Calls` answers itself, with a cookie that the other calls need after a sign-in."""


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Version 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    paths["/api/session"] = _SESSION
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Barnabas console",
            "version": __version__,
            "description": "Errors are {error: {message, hint}}. Changes need the header "
            f"{TOKEN_HEADER} with the token of GET /api/session.",
        },
        "paths": paths,
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.operation,
        "summary": endpoint.summary,
        "parameters": [_parameter(endpoint, each) for each in endpoint.parameters],
        "responses": {
            "200": {"description": "What was asked for."},
            "default": _ERROR,
        },
    }
    if endpoint.changes:
        operation["parameters"].append(_TOKEN)
    if endpoint.body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(endpoint.body)}},
        }
    return operation


def _parameter(endpoint: Endpoint, parameter: Parameter) -> dict[str, Any]:
    in_path = f"{{{parameter.name}}}" in endpoint.path
    return {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "required": in_path or parameter.required,
        "description": parameter.description,
        "schema": _schema(parameter),
    }


def _body(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [each.name for each in parameters if each.required],
        "properties": {
            each.name: {**_schema(each), "description": each.description} for each in parameters
        },
    }


def _schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.kind}
    if parameter.default is not None:
        schema["default"] = parameter.default
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.minimum is not None:
        schema["minimum"] = parameter.minimum
    if parameter.maximum is not None:
        schema["maximum"] = parameter.maximum
    return schema
