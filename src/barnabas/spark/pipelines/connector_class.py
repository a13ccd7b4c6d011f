"""The connector that a definition names: an object, or a class by its name with arguments."""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.connector import Connector


def made_connector(given: Connector | str, method: str, arguments: Mapping[str, Any]) -> Connector:
    """A connector that has this method; raises `InvalidArgument`."""
    if isinstance(given, str):
        made = _class_named(given)
        try:
            inspect.signature(made).bind(**arguments)
        except TypeError as error:
            raise InvalidArgument(f"{given}: {error}") from None
        given = made(**arguments)
    elif arguments:
        raise InvalidArgument(f"unknown argument {next(iter(arguments))!r}")
    if getattr(type(given), method) is getattr(Connector, method):
        raise InvalidArgument(f"{given.describe()} has no method {method}")
    return given


def _class_named(name: str) -> type[Connector]:
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InvalidArgument(f"{name!r}: name a class as module:Class")
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError as error:
        raise InvalidArgument(f"{name}: can't import {module}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise InvalidArgument(
            f"{name} is not a class that extends barnabas.spark.pipelines.Connector"
        )
    return found
