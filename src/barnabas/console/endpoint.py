"""An API call: what it takes, checked and documented by one declaration."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from barnabas.console.answers import ApiError
from barnabas.console.options import ConsoleOptions

if TYPE_CHECKING:
    from barnabas.console.messages.view import View
    from barnabas.console.user_cluster import UserCluster

Kind = Literal["string", "integer", "number", "boolean", "object", "array"]
_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_MAX_TEXT = 1_000_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value of a query, a path or a body."""

    name: str
    kind: Kind
    description: str
    default: Any = None
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    """Whether no audit record may have it."""
    content: bool = False
    """Whether it is a part of a record, which is not audited where the topic is masked."""

    def parse(self, text: str) -> Any:
        """A value of a query. Raises `ApiError`."""
        if self.kind == "boolean":
            return text.lower() in ("1", "true", "yes")
        if self.kind == "integer":
            try:
                return self.check(int(text[:40]))
            except ValueError:
                raise self.wrong(f"expected a whole number, got {text[:40]!r}") from None
        return self.check(text)

    def check(self, value: Any) -> Any:
        """A value of a body. Raises `ApiError`."""
        if value is None and not self.required:
            return self.default
        if not isinstance(value, _TYPES[self.kind]) or (
            isinstance(value, bool) and self.kind != "boolean"
        ):
            raise self.wrong(f"expected {self.kind}")
        if isinstance(value, str):
            if self.choices and value not in self.choices:
                raise self.wrong(f"use {', '.join(self.choices)}")
            if self.required and not value:
                raise self.wrong("it is empty")
            if len(value) > _MAX_TEXT:
                raise self.wrong("it is too long")
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.minimum is not None and value < self.minimum:
                raise self.wrong(f"at least {self.minimum}")
            if self.maximum is not None and value > self.maximum:
                raise self.wrong(f"at most {self.maximum}")
        return value

    def wrong(self, why: str) -> ApiError:
        return ApiError(HTTPStatus.BAD_REQUEST, f"{self.name}: {why}", "Correct it and try again.")


@dataclass(frozen=True, slots=True)
class Call:
    """One call, with its values checked."""

    options: ConsoleOptions
    cluster: "UserCluster"
    arguments: Mapping[str, Any]
    view: "View"

    def text(self, name: str) -> str:
        value = self.arguments[name]
        return "" if value is None else str(value)

    def number(self, name: str) -> int:
        return int(self.arguments[name])

    def flag(self, name: str) -> bool:
        return bool(self.arguments[name])

    def given(self, name: str) -> Any:
        """None if it was not given."""
        return self.arguments[name]


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`changes` says that it needs the token, and a console that is not read-only."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    summary: str
    handler: Handler
    parameters: tuple[Parameter, ...] = ()
    """Of the path and the query."""
    body: tuple[Parameter, ...] = ()
    changes: bool = False

    @property
    def operation(self) -> str:
        """What the audit topic and the documentation call it."""
        return self.handler.__name__

    def arguments(self, given: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]:
        """All values; raises `ApiError`."""
        unknown = body.keys() - {each.name for each in self.body}
        if unknown:
            raise ApiError(HTTPStatus.BAD_REQUEST, f"unknown field {min(unknown)!r}")
        values = {}
        for each in self.parameters:
            text = given.get(each.name)
            if text is None:
                values[each.name] = each.check(None)
            else:
                values[each.name] = each.parse(text)
        for each in self.body:
            values[each.name] = each.check(body.get(each.name))
        return values
