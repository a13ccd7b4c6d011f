"""All of a registry as lines of JSON, and such lines into another one.

A line is a version of a subject as the REST API shows it, `deleted` if it is soft-deleted;
settings: `{"config": {…}, "subject": S}`, without a subject for those of all; or the largest id
that a context has given: `{"maxId": N, "context": C}`. Versions come after those that they refer
to, so that lines are imported in their order.
"""

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus

from barnabas.errors import BarnabasError
from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.registry.model.contents import Json, JsonObject, mapping, objects
from barnabas.registry.model.names import (
    ALL_CONTEXTS,
    DEFAULT_CONTEXT,
    SubjectName,
    beside,
    context_of,
)

_MODE = "mode"
_CONFIG = "config"
_MAX_ID = "maxId"
_CONTEXT = "context"
_SENT = ("version", "id", "schemaType", "references", "metadata", "ruleSet", "schema")
_ASKED = {"compatibilityLevel": "compatibility"}
"""Settings that requests name differently from answers."""
_NOT_FOUND = range(40400, 40500)
_NO_PATH = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, *_NOT_FOUND)
"""What other registries answer."""


def exported(
    client: RegistryClient,
    warn: Callable[[str], None],
    prefix: str = ALL_CONTEXTS,
    *,
    deleted: bool = False,
) -> Iterator[JsonObject]:
    """The lines of all subjects that start with a prefix; `warn` is told what can't be had."""
    subjects = _strings(client.call("GET", "subjects", subjectPrefix=prefix))
    every = subjects
    if deleted:
        every = _strings(client.call("GET", "subjects", subjectPrefix=prefix, deleted="true"))
    versions: dict[tuple[str, int], JsonObject] = {}
    for subject in every:
        live = _numbers(client, subject) if subject in subjects else []
        for number in _numbers(client, subject, deleted="true") if deleted else live:
            found = _version(client, subject, number, deleted="true" if deleted else "false")
            versions[subject, number] = found if number in live else {**found, "deleted": True}
    yield from _in_order(versions)
    contexts = _contexts(client, subjects, prefix)
    for scope in (None, *_scopes(client, warn, every, contexts, prefix)):
        config = _config(client, scope)
        if config:
            named: dict[str, Json] = {} if scope is None else {"subject": scope}
            yield {_CONFIG: dict(config), **named}
    for context in contexts:
        largest = _largest_id(client, context)
        if largest is None:
            warn(
                "this registry does not say which ids it has given: those of schemas that were "
                "deleted for good will be given to other schemas"
            )
            return
        if largest:
            yield {_MAX_ID: largest, _CONTEXT: context}


class Importer:
    """Puts lines into a registry, with the ids and versions that they have."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client
        self._modes: dict[str, str | None] = {}
        """The modes that subjects had; all are in IMPORT mode until `close`."""
        self._deleted: list[tuple[str, int]] = []
        self.versions = 0
        self.settings = 0
        self.has_ids = True
        """Whether the registry takes the largest ids, so that no id is given to another schema."""

    def add(self, line: JsonObject) -> None:
        """Raises `BarnabasError`."""
        subject = line.get("subject")
        if _CONFIG in line:
            self._configure(subject, mapping(line[_CONFIG]))
            return
        if _MAX_ID in line:
            self._reserve(str(line.get(_CONTEXT)), line[_MAX_ID])
            return
        version = line.get("version")
        if not isinstance(subject, str) or not isinstance(version, int) or "schema" not in line:
            raise BarnabasError(
                "a line has to have subject, version, id and schema, or config, or maxId"
            )
        self._open(subject)
        body = {name: line[name] for name in _SENT if name in line}
        try:
            self._client.call("POST", "subjects", subject, "versions", body=body)
        except RegistryAnswerError as error:
            raise BarnabasError(f"subject {subject} version {version}: {error}") from error
        self.versions += 1
        if line.get("deleted") is True:
            self._deleted.append((subject, version))

    def close(self) -> None:
        """Delete what is deleted elsewhere, and give all subjects the modes that they had."""
        for subject, version in self._deleted:  # at the end, since modes go with the last version
            self._client.call("DELETE", "subjects", subject, "versions", str(version))
        self._deleted.clear()
        while self._modes:
            subject, mode = self._modes.popitem()
            if mode is None:
                try:
                    self._client.call("DELETE", _MODE, subject)
                except RegistryAnswerError as error:
                    if error.code not in _NOT_FOUND:
                        raise
            else:
                self._client.call("PUT", _MODE, subject, body={_MODE: mode}, force="true")

    def _configure(self, subject: Json, config: JsonObject) -> None:
        body = {_ASKED.get(name, name): each for name, each in config.items()}
        path = [_CONFIG, *([subject] if isinstance(subject, str) else [])]
        self._client.call("PUT", *path, body=body)
        self.settings += 1

    def _reserve(self, context: str, largest: Json) -> None:
        try:
            self._client.call("PUT", *_ids_of(context), body={_MAX_ID: largest})
        except RegistryAnswerError as error:
            if error.code not in _NO_PATH:
                raise
            self.has_ids = False

    def _open(self, subject: str) -> None:
        if subject in self._modes:
            return
        try:
            mode = mapping(self._client.call("GET", _MODE, subject)).get(_MODE)
        except RegistryAnswerError as error:
            if error.code not in _NOT_FOUND:
                raise
            mode = None
        self._client.call("PUT", _MODE, subject, body={_MODE: "IMPORT"}, force="true")
        self._modes[subject] = mode if isinstance(mode, str) else None


def _contexts(client: RegistryClient, subjects: Iterable[str], prefix: str) -> list[str]:
    used = {context_of(each) for each in subjects}
    if prefix == ALL_CONTEXTS:
        used.update(_strings(client.call("GET", "contexts")))
    return sorted(used)


def _scopes(
    client: RegistryClient,
    warn: Callable[[str], None],
    subjects: Iterable[str],
    contexts: Iterable[str],
    prefix: str,
) -> list[str]:
    """What may have settings: subjects, contexts, and names without versions, as of an alias."""
    found = {*subjects, *(SubjectName(each, "").qualified for each in contexts)}
    try:
        named = _strings(client.call("GET", "settings"))
    except RegistryAnswerError as error:
        if error.code not in _NO_PATH:
            raise
        warn("this registry does not list settings: those of names without versions are left out")
        named = []
    found.update(each for each in named if prefix == ALL_CONTEXTS or each.startswith(prefix))
    return sorted(found - {""})


def _largest_id(client: RegistryClient, context: str) -> int | None:
    """None if the registry does not say it."""
    try:
        found = mapping(client.call("GET", *_ids_of(context))).get(_MAX_ID)
    except RegistryAnswerError as error:
        if error.code not in _NO_PATH:
            raise
        return None
    return found if isinstance(found, int) else None


def _ids_of(context: str) -> list[str]:
    return ["ids"] if context == DEFAULT_CONTEXT else ["contexts", context, "ids"]


def _in_order(versions: dict[tuple[str, int], JsonObject]) -> Iterator[JsonObject]:
    """Each after those that it refers to."""
    left = dict(sorted(versions.items()))
    while left:
        waiting = {
            key: line
            for key, line in left.items()
            if any(each in left and each != key for each in _referred(line))
        }
        ready = [line for key, line in left.items() if key not in waiting] or list(left.values())
        yield from ready
        left = waiting if len(ready) < len(left) else {}


def _referred(line: JsonObject) -> Iterable[tuple[str, int]]:
    subject = str(line.get("subject"))
    for each in objects(line.get("references")):
        version = each.get("version")
        if isinstance(version, int):
            yield beside(subject, str(each.get("subject"))), version


def _version(client: RegistryClient, subject: str, number: int, **query: str) -> JsonObject:
    return mapping(client.call("GET", "subjects", subject, "versions", str(number), **query))


def _numbers(client: RegistryClient, subject: str, **query: str) -> list[int]:
    found = client.call("GET", "subjects", subject, "versions", **query)
    return [each for each in found if isinstance(each, int)] if isinstance(found, list) else []


def _config(client: RegistryClient, subject: str | None) -> JsonObject:
    try:
        return mapping(client.call("GET", _CONFIG, *([] if subject is None else [subject])))
    except RegistryAnswerError as error:
        if error.code in _NOT_FOUND:
            return {}
        raise


def _strings(value: Json) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
