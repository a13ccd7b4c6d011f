"""Asks a schema registry, by the REST API that Confluent's and others serve.

Schemas never change, so each id is asked for once. An id that fails is asked for again after a
while: it may be registered later, and data that only looks like this format has an id as well.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request

from barnabas.console.outside import OPENER, OutsideCalls
from barnabas.errors import InvalidArgument
from barnabas.formats.registered.schema import RegisteredSchema

T = TypeVar("T")

_TIMEOUT_S = 5.0
_MAX_ANSWER = 4 * 1024 * 1024
_MAX_KNOWN = 2_000
_AT_ONCE = 4
_AGAIN_S = 60.0
_AWAY_S = 10.0
_MAX_ASKED = 50
"""Of the ids on a page: data that only looks like this format has any number as its id."""
_MAX_REFERENCES = 100


class Version(NamedTuple):
    """The newest schema of a subject, as people read it."""

    subject: str
    number: int
    schema_id: int
    kind: str
    text: str


class RegistryError(Exception):
    """Why there is no schema."""


class UnknownToRegistryError(RegistryError):
    """The registry does not have what it was asked for."""


class RegistryUnreachableError(RegistryError):
    """There is no answer, and would be none for other schemas."""


class SchemaRegistry:
    """One registry."""

    def __init__(self, url: str) -> None:
        """Raises `InvalidArgument`. User and password may be in the URL."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(f"--registry {url}: write http://… or https://…")
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._authorization: str | None = None
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = f"Basic {b64encode(user.encode()).decode()}"
        self._known: dict[int, RegisteredSchema] = {}
        self._failed: dict[int, tuple[float, str]] = {}
        self._away: tuple[float, str] | None = None
        self._calls = OutsideCalls(_AT_ONCE)

    def known(self, number: int) -> RegisteredSchema | None:
        return self._known.get(number)

    def problem(self, number: int) -> str | None:
        """Why a schema could not be had."""
        failed = self._failed.get(number) or self._away
        return None if failed is None else failed[1]

    async def prepare(self, numbers: Iterable[int]) -> None:
        """Ask for what is not known yet."""
        now = monotonic()
        wanted = [
            each
            for each in set(numbers) - self._known.keys()
            if each not in self._failed or self._failed[each][0] < now - _AGAIN_S
        ]
        await asyncio.gather(*map(self._fetch, wanted[:_MAX_ASKED]))

    async def schema(self, number: int) -> RegisteredSchema:
        """Raises `RegistryError`."""
        await self.prepare([number])
        found = self.known(number)
        if found is None:
            raise RegistryError(self.problem(number) or "the schema is not known yet")
        return found

    async def newest(self, subject: str) -> Version | None:
        """None if there is no such subject. Raises `RegistryError`."""
        try:
            return await self._calls.run(partial(self._checked, partial(self._newest, subject)))
        except UnknownToRegistryError:
            return None
        except RegistryUnreachableError as error:
            self._note_away(error)
            raise

    def _newest(self, subject: str) -> Version:
        answer = self._get("subjects", subject, "versions", "latest")
        kind = str(answer.get("schemaType") or "AVRO").upper()
        number, schema_id = answer["version"], answer["id"]
        if not isinstance(number, int) or not isinstance(schema_id, int):
            raise TypeError
        return Version(subject, number, schema_id, kind, str(answer["schema"]))

    def _note_away(self, error: RegistryUnreachableError) -> None:
        if not self._is_away:
            self._away = monotonic(), str(error)

    async def _fetch(self, number: int) -> None:
        try:
            schema = await self._calls.run(partial(self._checked, partial(self._asked, number)))
        except RegistryUnreachableError as error:
            self._note_away(error)
        except RegistryError as error:
            _bounded(self._failed)[number] = monotonic(), str(error)
        else:
            self._away = None
            self._failed.pop(number, None)
            _bounded(self._known)[number] = schema

    @property
    def _is_away(self) -> bool:
        return self._away is not None and self._away[0] > monotonic() - _AWAY_S

    def _checked(self, ask: Callable[[], T]) -> T:
        """An answer, unless the registry did not answer a moment ago."""
        if self._away is not None and self._is_away:
            raise RegistryUnreachableError(self._away[1])
        try:
            return ask()
        except (KeyError, TypeError, AttributeError, RecursionError):
            raise RegistryError(f"{self.url} does not answer as a schema registry does") from None

    def _asked(self, number: int) -> RegisteredSchema:
        answer = self._get("schemas", "ids", str(number))
        kind = str(answer.get("schemaType") or "AVRO").upper()
        query = "?format=serialized" if kind == "PROTOBUF" else ""
        if query:
            answer = self._get("schemas", "ids", str(number), query=query)
        references: dict[str, str] = {}
        self._references(answer.get("references") or [], query, references, set())
        return RegisteredSchema(number, kind, str(answer["schema"]), tuple(references.items()))

    def _references(
        self, listed: list[Any], query: str, found: dict[str, str], asked: set[str]
    ) -> None:
        """Those that a reference has come before it. A reference to the latest version may have
        become a circle since."""
        for each in listed:
            name = str(each["name"])
            if name in found:
                continue
            if name in asked:
                raise RegistryError("it refers to schemas that refer to each other")
            if len(asked) >= _MAX_REFERENCES:
                raise RegistryError("it refers to too many other schemas")
            asked.add(name)
            path = ("subjects", str(each["subject"]), "versions", str(each["version"]))
            answer = self._get(*path, query=query)
            self._references(answer.get("references") or [], query, found, asked)
            found[name] = str(answer["schema"])

    def _get(self, *path: str, query: str = "") -> dict[str, Any]:
        target = "/".join([self.url, *(quote(each, safe="") for each in path)]) + query
        request = Request(target, headers={"Accept": "application/json"})  # noqa: S310 - checked
        if self._authorization is not None:
            request.add_header("Authorization", self._authorization)
        try:
            with OPENER.open(request, timeout=_TIMEOUT_S) as answer:
                text = answer.read(_MAX_ANSWER + 1)
        except HTTPError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                raise UnknownToRegistryError("the registry does not have it") from None
            raise RegistryError(f"the registry answers {error.code}") from None
        except (URLError, OSError, HTTPException) as error:
            raise RegistryUnreachableError(f"no answer from {self.url}: {error}") from None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise RegistryError(f"{self.url} does not answer with JSON") from None
        if not isinstance(value, dict) or "schema" not in value:
            raise RegistryError(f"{self.url} does not answer as a schema registry does")
        return value


def _bounded(kept: dict[int, Any]) -> dict[int, Any]:
    """Forget the oldest: data that only looks like this format has any number as its id."""
    if len(kept) >= _MAX_KNOWN:
        del kept[next(iter(kept))]
    return kept
