"""A request, with its parameters."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from barnabas.registry.access.caller import Caller
from barnabas.registry.model.contents import JsonObject
from barnabas.registry.model.lookups import Deleted
from barnabas.registry.model.names import (
    ALL_CONTEXTS,
    SubjectName,
    context_name,
    context_of,
    qualified,
)
from barnabas.web.messages import HttpError, Request
from barnabas.wire.acl_codes import AclOperation

_EVERY_FIELD = "confluent-accept-unknown-properties"
_CLIENT_VERSION = "confluent-client-version"
_CONTEXTS = "contexts"


@dataclass(frozen=True)
class Call:
    """A request; one below /contexts/CONTEXT/ is as if its subjects were of this context."""

    request: Request
    path: tuple[str, ...]
    context: str | None = None
    caller: Caller | None = None
    """Who has signed in, where users do."""

    @property
    def accepts_every_field(self) -> bool:
        """Whether the client says that it ignores fields that it does not know.

        confluent-kafka for Python does, and only says so where it sends a body.
        """
        headers = self.request.headers
        is_python = headers.get(_CLIENT_VERSION, "").startswith("python/")
        return is_python or headers.get(_EVERY_FIELD, "").lower() == "true"

    def subject(self, index: int = 1) -> str:
        """A part of the path that names a subject."""
        return self.qualified(self.path[index])

    def qualified(self, name: str) -> str:
        if self.context is None or name.startswith((":.", ALL_CONTEXTS)):
            return qualified(name)
        return SubjectName(self.context, name).qualified

    @property
    def scope(self) -> str | None:
        """Whose settings: those of the subject in the path, of the context, or None for all."""
        if len(self.path) > 1:
            return self.subject()
        return None if self.context is None else self.qualified("")

    def may(self, operation: AclOperation, subject: str) -> bool:
        return self.caller is None or self.caller.may(operation, subject)

    def may_read(self, subject: str) -> bool:
        return self.may(AclOperation.READ, subject)

    def may_skip_ids(self, subject: str) -> bool:
        """Whether they may import an id that leaves fewer to all subjects of a context."""
        context = SubjectName(context_of(subject), "").qualified
        return self.may(AclOperation.ALTER_CONFIGS, context)

    def check(self, operation: AclOperation, subject: str) -> None:
        """Raises `RegistryRefusal` if the caller may not."""
        if self.caller is not None:
            self.caller.check(operation, subject)

    def flag(self, name: str, *, default: bool = False) -> bool:
        found = self.request.query.get(name)
        return default if found is None else found[-1].lower() == "true"

    def text(self, name: str, default: str = "") -> str:
        return self.request.query.get(name, [default])[-1]

    def number(self, name: str, default: int) -> int:
        """Raises `HttpError`."""
        return parse_number(self.text(name, str(default)), name)

    @property
    def deleted(self) -> Deleted:
        if self.flag("deletedOnly"):
            return Deleted.ALONE
        return Deleted.SHOWN if self.flag("deleted") else Deleted.HIDDEN

    @property
    def page(self) -> tuple[int, int]:
        """Where the part of a list begins that is asked for, and how long it is at most."""
        return max(0, self.number("offset", 0)), self.number("limit", -1)

    def body(self) -> JsonObject:
        """The JSON object that was sent, whatever its content type. Raises `HttpError`."""
        try:
            found = json.loads(self.request.body or b"{}")
        except (ValueError, RecursionError) as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise HttpError(HTTPStatus.BAD_REQUEST, "the body has to be a JSON object")
        return found


def parse_call(request: Request) -> Call:
    """Take the context from a path below /contexts/CONTEXT/."""
    path = request.path
    if len(path) > 2 and path[0] == _CONTEXTS:
        return Call(request, path[2:], context_name(path[1]))
    return Call(request, path)


def parse_number(text: str, name: str) -> int:
    """Raises `HttpError`."""
    try:
        return int(text)
    except ValueError:
        raise HttpError(HTTPStatus.NOT_FOUND, f"{name} is a number, not {text!r}") from None
