"""What a handler is called with, by its annotations.

| parameter | gets |
|---|---|
| `order: Order`, the first one | the value of the record, decoded to that type |
| `message: Message[str, Order]` | the whole record, key and value decoded |
| `key: str`, by its name | the key |
| `headers`, by its name | the headers, as pairs |
| `orders: list[Order]`, `list[Message[str, Order]]` | a batch of them |
| `table: pyarrow.Table` | a batch as an Arrow table, key and value as bytes |
| `Annotated[T, Depends(f)]`, or `= Depends(f)` | what `f` gives |
| `cart: State[Cart]` | the value that is kept for the key |

Annotations are looked at once. `Invocation.call` decodes and calls, and is all there is for each
record of a plain handler.
"""

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from barnabas.app.dependencies import Depends, dependency_of
from barnabas.app.sent_to import destination_of
from barnabas.app.state.declaration import StateDeclaration, state_of
from barnabas.app.values.model_values import Decode, ModelValues
from barnabas.errors import InvalidArgument, RegistryUnreachable, UndecodableRecord
from barnabas.records.message import Message


class Takes(Enum):
    """What one call of a handler is for."""

    RECORD = "record"
    BATCH = "batch"
    TABLE = "table"


@dataclass
class Parameters:
    """What is known of a handler's parameters and its result."""

    takes: Takes = Takes.RECORD
    value: str | None = None
    value_type: Any = None
    message: str | None = None
    key: str | None = None
    key_type: Any = None
    headers: str | None = None
    dependencies: dict[str, Depends] = field(default_factory=dict)
    state: StateDeclaration | None = None
    result: Any = None
    sent_to: str | None = None


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """Look at a handler's signature."""
    name = getattr(function, "__name__", repr(function))
    hints = get_type_hints(function, include_extras=True)
    result, sent_to = destination_of(hints.get("return"))
    found = Parameters(result=result, sent_to=sent_to)
    for each in inspect.signature(function).parameters.values():
        hint = hints.get(each.name, Any)
        depends = dependency_of(hint, each.default)
        if depends is not None:
            found.dependencies[each.name] = depends
            continue
        state = state_of(name, each.name, hint)
        if state is not None:
            if found.state is not None:
                raise InvalidArgument(
                    f"handler {name}: {found.state.name} and {state.name} are two states; keep one "
                    "value with the fields of both"
                )
            found.state = state
            continue
        hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        if each.name == "key":
            found.key, found.key_type = each.name, hint
        elif each.name == "headers":
            found.headers = each.name
        elif found.value is None and found.message is None:
            _take(found, each.name, hint)
        elif each.default is each.empty:
            raise InvalidArgument(
                f"handler {name}: parameter {each.name} is one too many; it is key, headers, "
                "State[...] or Annotated[..., Depends(...)]"
            )
    if found.value is None and found.message is None:
        raise InvalidArgument(f"handler {name} takes no record: write {name}(order: Order)")
    if found.takes is not Takes.RECORD and (found.key or found.headers):
        raise InvalidArgument(f"handler {name}: a batch has no one key; use list[Message]")
    return found


def _take(found: Parameters, name: str, hint: Any) -> None:
    """The parameter for the record, or for many of them."""
    if _is_table(hint):
        found.takes, found.value = Takes.TABLE, name
        return
    if get_origin(hint) is list:
        found.takes = Takes.BATCH
        (hint,) = get_args(hint)
    if hint is Message or get_origin(hint) is Message:
        found.message = name
        found.key_type, found.value_type = get_args(hint) or (Any, Any)
    else:
        found.value, found.value_type = name, hint


def _is_table(hint: Any) -> bool:
    return (
        isinstance(hint, type)
        and hint.__name__ == "Table"
        and hint.__module__.partition(".")[0] == "pyarrow"
    )


def decode_by(hint: Any, what: str, values: ModelValues) -> Decode | None:
    """Decodes to a type; None stands for the bytes, or None, as they are."""
    if hint is None or hint is Any:
        return None
    inner = _not_null(hint)
    if inner is hint:
        return values.decoder(hint, what)
    return None if inner is bytes else values.decoder(inner, what, null=True)


def _not_null(hint: Any) -> Any:
    """`Order` for `Order | None`."""
    if get_origin(hint) not in (Union, types.UnionType) or types.NoneType not in get_args(hint):
        return hint
    some = [each for each in get_args(hint) if each is not types.NoneType]
    inner: Any = some[0]
    for each in some[1:]:
        inner = inner | each
    return inner


class Invocation:
    """Calls a handler with one record, or with a list of them.

    `call(message)` of a plain handler decodes and calls: what it returns is the result, or a
    coroutine if the handler `is_async`. Dependencies are given as `extra`.
    """

    def __init__(self, function: Callable[..., Any], values: ModelValues) -> None:
        self.function = function
        self.parameters = parameters_of(function)
        self.is_async = inspect.iscoroutinefunction(function)
        self._decode_value = decode_by(self.parameters.value_type, "value", values)
        self._decode_key = decode_by(self.parameters.key_type, "key", ModelValues())
        self.schemas = values.schemas(_not_null(self.parameters.value_type))
        """What a consumer asks for the schemas of values; None if they are read without."""
        self.call: Callable[[Message], Any] = self._plain()

    @property
    def is_plain(self) -> bool:
        return not self.parameters.dependencies and self.parameters.state is None

    def _plain(self) -> Callable[[Message], Any]:
        """The shortest way from a record to the handler."""
        parameters, function = self.parameters, self.function
        if parameters.takes is Takes.RECORD and parameters.value and not self._has_more:
            decode = self._decode_value
            if decode is None:
                return lambda message: function(message[5])

            def call(message: Message) -> Any:
                try:
                    value = decode(message[5])
                except RegistryUnreachable:
                    raise
                except Exception as error:
                    raise UndecodableRecord(message, "value", error) from error
                return function(value)

            return call
        return lambda message: function(**self.arguments(message))

    @property
    def _has_more(self) -> bool:
        found = self.parameters
        return bool(found.key or found.headers or found.dependencies or found.state)

    def decoded(self, message: Message) -> Message:
        """The record with key and value as the handler wants them."""
        what = "key"
        key, value = message.key, message.value
        try:
            if self._decode_key is not None:
                key = self._decode_key(key)
            what = "value"
            if self._decode_value is not None:
                value = self._decode_value(value)
        except RegistryUnreachable:
            raise
        except Exception as error:
            raise UndecodableRecord(message, what, error) from error
        return message._replace(key=key, value=value)

    def arguments(self, message: Message) -> dict[str, Any]:
        """The arguments for one record, apart from dependencies and state."""
        found = self.parameters
        given = self.decoded(message)
        arguments: dict[str, Any] = {}
        if found.value:
            arguments[found.value] = given.value
        if found.message:
            arguments[found.message] = given
        if found.key:
            arguments[found.key] = given.key
        if found.headers:
            arguments[found.headers] = given.headers
        return arguments

    def batch_argument(self, given: list[Message]) -> dict[str, Any]:
        """The argument for records that are decoded already."""
        found = self.parameters
        if found.message:
            return {found.message: given}
        assert found.value is not None
        return {found.value: [each.value for each in given]}
