"""The records of the log, as Confluent's registry writes them to the topic `_schemas`.

    {"keytype":"SCHEMA","subject":S,"version":N,"magic":1}     {"subject","version","id","schema",…}
    {"keytype":"CONFIG","subject":S or null,"magic":0}         {"compatibilityLevel",…}
    {"keytype":"MODE","subject":S or null,"magic":0}           {"mode"}
    {"keytype":"DELETE_SUBJECT","subject":S,"magic":0}         {"subject","version"}: up to which
    {"keytype":"CLEAR_SUBJECT","subject":S,"magic":0}          {"subject"}
    {"keytype":"CONTEXT","tenant":T,"context":C,"magic":0}     {"tenant","context"}
    {"keytype":"ASSOC","tenant":T,"resourceName":R,…}          an association
    {"keytype":"NOOP","magic":0}                               {"writer","maxIds"} here

A record without a value deletes. Compaction compares keys as bytes, so the order of the fields is
part of the format. Confluent's registry writes NOOP without a value, and reads none. Here it says
where the writer is, and which ids were given, so that none is given twice even if all that had it
is deleted for good and compacted away.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.registry.model.associations import Association, AssociationKey, association_json
from barnabas.registry.model.contents import Json, JsonObject
from barnabas.registry.model.entries import SchemaVersion, content_json

SCHEMA = "SCHEMA"
CONFIG = "CONFIG"
MODE = "MODE"
DELETE_SUBJECT = "DELETE_SUBJECT"
CLEAR_SUBJECT = "CLEAR_SUBJECT"
CONTEXT = "CONTEXT"
ASSOC = "ASSOC"
NOOP = "NOOP"
_TENANT = "default"


class LogRecord(NamedTuple):
    """A record to write."""

    key: bytes
    value: bytes | None


def schema_record(entry: SchemaVersion) -> LogRecord:
    """A version as it is from now on."""
    value: dict[str, Json] = {
        "subject": entry.subject,
        "version": entry.version,
        "id": entry.id,
        **content_json(entry.content),
        "deleted": entry.deleted,
    }
    return LogRecord(_schema_key(entry.subject, entry.version), encoded(value))


def schema_tombstone(subject: str, version: int) -> LogRecord:
    return LogRecord(_schema_key(subject, version), None)


def config_record(subject: str | None, config: JsonObject | None) -> LogRecord:
    """The settings of a subject or of all; None removes them."""
    named = {"subject": subject} if subject is not None else {}
    value = None if config is None else encoded({**named, **config})
    return LogRecord(_subject_key(CONFIG, subject), value)


def mode_record(subject: str | None, mode: str | None) -> LogRecord:
    """The mode of a subject or of all; None removes it."""
    named = {"subject": subject} if subject is not None else {}
    value = None if mode is None else encoded({**named, "mode": mode})
    return LogRecord(_subject_key(MODE, subject), value)


def deleted_subject_record(subject: str, version: int) -> LogRecord:
    """All versions up to this one are soft-deleted."""
    value: dict[str, Json] = {"subject": subject, "version": version}
    return LogRecord(_subject_key(DELETE_SUBJECT, subject), encoded(value))


def context_record(context: str, *, exists: bool = True) -> LogRecord:
    key: dict[str, Json] = {"keytype": CONTEXT, "tenant": _TENANT, "context": context, "magic": 0}
    value: dict[str, Json] = {"tenant": _TENANT, "context": context}
    return LogRecord(encoded(key), encoded(value) if exists else None)


def association_record(key: AssociationKey, entry: Association | None) -> LogRecord:
    """An association as it is from now on; None removes it."""
    named: dict[str, Json] = {
        "keytype": ASSOC,
        "tenant": _TENANT,
        "resourceName": key.resource_name,
        "resourceNamespace": key.resource_namespace,
        "resourceType": key.resource_type,
        "associationType": key.association_type,
        "subject": key.subject,
        "magic": 0,
    }
    if entry is None:
        return LogRecord(encoded(named), None)
    return LogRecord(encoded(named), encoded({**association_json(entry), "tenant": _TENANT}))


def writer_record(url: str | None, max_ids: Mapping[str, int]) -> LogRecord:
    """Where the writer is, None for nowhere, and the largest id that each context has given."""
    value: dict[str, Json] = {"writer": url, "maxIds": dict(max_ids)}
    return LogRecord(encoded({"keytype": NOOP, "magic": 0}), encoded(value))


def encoded(value: JsonObject) -> bytes:
    """Compact JSON in UTF-8, fields in the order that is given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _schema_key(subject: str, version: int) -> bytes:
    return encoded({"keytype": SCHEMA, "subject": subject, "version": version, "magic": 1})


def _subject_key(kind: str, subject: str | None) -> bytes:
    return encoded({"keytype": kind, "subject": subject, "magic": 0})
