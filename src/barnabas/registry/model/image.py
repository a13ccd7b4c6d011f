"""What the records of the log add up to."""

import json
import logging
from collections.abc import Mapping
from typing import TypeVar

from barnabas.registry.model.associations import (
    AssociationIndex,
    association_from,
    association_key,
)
from barnabas.registry.model.config import (
    READONLY_OVERRIDE,
    READWRITE,
    effective_config,
)
from barnabas.registry.model.contents import JsonObject, mapping
from barnabas.registry.model.entries import (
    MalformedEntryError,
    SchemaVersion,
    content_from,
    integer,
    text,
)
from barnabas.registry.model.names import DEFAULT_CONTEXT, SubjectName, context_of, parse_subject
from barnabas.registry.model.records import (
    ASSOC,
    CLEAR_SUBJECT,
    CONFIG,
    CONTEXT,
    DELETE_SUBJECT,
    MODE,
    NOOP,
    SCHEMA,
)
from barnabas.registry.model.schema_index import SchemaIndex

_log = logging.getLogger("barnabas.registry")
_SHOWN = 120
_K = TypeVar("_K")
_V = TypeVar("_V")


class RegistryImage:
    """The state of a registry. Only `replay` changes it, in the order of the log."""

    def __init__(self) -> None:
        self.schemas = SchemaIndex()
        self.associations = AssociationIndex()
        self.writer: str | None = None
        """The URL of the instance that writes, as far as the log says."""
        self._configs: dict[str | None, JsonObject] = {}
        self._modes: dict[str | None, str] = {}
        self._contexts: dict[str, bool] = {}
        self._max_ids: dict[str, int] = {}

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a record. One that can't be read is logged and skipped, as by other registries."""
        try:
            name = _object(key)
            self._apply(name, None if value is None else _object(value))
        except (MalformedEntryError, ValueError, RecursionError) as error:
            _log.warning("skipped the record with key %.*r: %s", _SHOWN, key, error)

    def _apply(self, key: JsonObject, value: JsonObject | None) -> None:
        kind = key.get("keytype")
        if kind == SCHEMA:
            self._apply_schema(text(key, "subject"), integer(key, "version"), value)
        elif kind == CONFIG:
            _set(self._configs, _subject(key), None if value is None else _settings(value))
        elif kind == MODE:
            mode = None if value is None else text(value, "mode")
            _set(self._modes, _subject(key), mode)
        elif kind == DELETE_SUBJECT and value is not None:
            self._delete_up_to(text(value, "subject"), integer(value, "version"))
        elif kind == CLEAR_SUBJECT and value is not None:
            self._clear(text(value, "subject"))
        elif kind == CONTEXT:
            context = text(key, "context")
            _set(self._contexts, context, None if value is None else True)
        elif kind == ASSOC:
            if value is None:
                self.associations.remove(association_key(key))
            else:
                self.associations.put(association_from(value))
        elif kind == NOOP:
            self._apply_noop(value or {})

    def _apply_schema(self, subject: str, version: int, value: JsonObject | None) -> None:
        if value is None:
            self.schemas.remove(subject, version)
            return
        entry = SchemaVersion(
            subject,
            version,
            integer(value, "id"),
            content_from(value),
            value.get("deleted") is True,
        )
        self.schemas.put(entry)
        self._note_id(context_of(subject), entry.id)

    def _delete_up_to(self, subject: str, version: int) -> None:
        for each in list(self.schemas.versions(subject).values()):
            if each.version <= version and not each.deleted:
                self.schemas.put(each.with_deleted())

    def _clear(self, subject: str) -> None:
        for each in list(self.schemas.versions(subject).values()):
            if each.deleted:
                self.schemas.remove(subject, each.version)

    def _apply_noop(self, value: JsonObject) -> None:
        writer = value.get("writer")
        self.writer = writer if isinstance(writer, str) else None
        for context, largest in mapping(value.get("maxIds")).items():
            if isinstance(largest, int):
                self._note_id(context, largest)

    def _note_id(self, context: str, schema_id: int) -> None:
        self._max_ids[context] = max(schema_id, self._max_ids.get(context, 0))

    # -- ids and contexts --------------------------------------------------------------------------

    @property
    def max_ids(self) -> Mapping[str, int]:
        """The largest id that was ever given, by context."""
        return self._max_ids

    def next_id(self, context: str) -> int:
        return self._max_ids.get(context, 0) + 1

    @property
    def contexts(self) -> list[str]:
        """The default one first."""
        return [DEFAULT_CONTEXT, *sorted(self._contexts.keys() - {DEFAULT_CONTEXT})]

    # -- settings ----------------------------------------------------------------------------------

    @property
    def configs(self) -> Mapping[str | None, JsonObject]:
        """All settings, those of all subjects with the name None."""
        return self._configs

    def config(self, subject: str | None) -> JsonObject | None:
        """The settings of a subject, of a context, or of all; None if there are none."""
        return self._configs.get(subject)

    def config_in_force(self, subject: str | None) -> JsonObject:
        """The settings that count for a subject."""
        return effective_config(*(self._configs.get(each) for each in _scopes(subject)))

    def mode(self, subject: str | None) -> str | None:
        """The mode of a subject, of a context, or of all; None if none was set."""
        return self._modes.get(subject)

    def mode_in_force(self, subject: str | None) -> str:
        """The mode that counts for a subject."""
        if self._modes.get(None) == READONLY_OVERRIDE:
            return READONLY_OVERRIDE
        for each in _scopes(subject):
            if each in self._modes:
                return self._modes[each]
        return READWRITE


def _scopes(subject: str | None) -> list[str | None]:
    """Whose settings count, the nearest first."""
    if subject is None:
        return [None]
    context = parse_subject(subject).context
    if context == DEFAULT_CONTEXT:
        return [subject, None]
    return [subject, SubjectName(context, "").qualified, None]


def _set(entries: dict[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        entries.pop(key, None)
    else:
        entries[key] = value


def _subject(key: JsonObject) -> str | None:
    return None if key.get("subject") is None else text(key, "subject")


def _settings(value: JsonObject) -> JsonObject:
    return {name: each for name, each in value.items() if name != "subject" and each is not None}


def _object(data: bytes | None) -> JsonObject:
    found = json.loads(data or b"null")
    if not isinstance(found, dict):
        raise MalformedEntryError("it is not a JSON object")
    return found
