"""Settings of a stream of changes, under the names that Debezium gives them.

Each one is used or refused: a setting of Debezium that would have no effect here is an error that
says so. Errors never show the value of a password.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeVar, get_args

from barnabas.changes.postgres.table_filter import TableFilter, patterns
from barnabas.changes.postgres.values import (
    BinaryMode,
    DecimalMode,
    HstoreMode,
    IntervalMode,
    Representation,
    TimeMode,
)
from barnabas.errors import InvalidArgument

T = TypeVar("T")

SnapshotMode = Literal["initial", "initial_only", "no_data", "always", "when_needed"]
AutocreateMode = Literal["all_tables", "filtered", "disabled"]

UNAVAILABLE_VALUE: Final = "__debezium_unavailable_value"

_SLOT = re.compile(r"[a-z0-9_]{1,63}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_OPERATIONS = {"c", "u", "d", "t"}


@dataclass(frozen=True)
class ChangeSettings:
    """Which changes of which database, and how they are written. See `change_settings`."""

    dbname: str
    topic_prefix: str
    hostname: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    connection: Mapping[str, str] = field(default_factory=dict)
    """Further parameters of the connection, as `sslmode`."""
    tables: TableFilter = field(default_factory=TableFilter)
    slot_name: str = "barnabas"
    publication_name: str = "barnabas"
    autocreate: AutocreateMode = "filtered"
    snapshot_mode: SnapshotMode = "initial"
    snapshot_rows: int = 50_000
    """Rows that are read at a time."""
    signal_table: str = ""
    """Where signals are written, as schema.table; empty if none are read."""
    incremental_rows: int = 20_000
    """Rows of a chunk of an incremental snapshot."""
    skipped_operations: frozenset[str] = frozenset("t")
    message_prefixes: tuple[re.Pattern[str], ...] = ()
    """Which logical messages are events; none if there are none."""
    tombstones: bool = True
    transaction_metadata: bool = False
    heartbeat_ms: int = 0
    slot_retries: int = 6
    slot_retry_delay_ms: int = 1_000
    unavailable_value: str = UNAVAILABLE_VALUE
    representation: Representation = field(default_factory=Representation)


def change_settings(given: Mapping[str, str]) -> ChangeSettings:
    """Checked settings; raises `InvalidArgument`, which names the setting and what to write."""
    for name, text in given.items():
        _check_name(name, text)

    def value(name: str, default: str | None = None) -> str | None:
        return given.get(name, default)

    prefix = _required(given, "topic.prefix", "the name that topics start with, such as shop")
    if not _TOPIC.fullmatch(prefix):
        raise InvalidArgument(
            f"topic.prefix={prefix!r}: use letters, digits, '.', '_' and '-', as topics have them"
        )
    slot = value("slot.name") or default_slot(prefix)
    if not _SLOT.fullmatch(slot):
        raise InvalidArgument(
            f"slot.name={slot!r}: PostgreSQL takes at most 63 lower-case letters, digits and '_'"
        )
    return ChangeSettings(
        dbname=_required(given, "database.dbname", "the database whose changes are read"),
        topic_prefix=prefix,
        hostname=value("database.hostname"),
        port=_optional(given, "database.port", _number(1, 65_535)),
        user=value("database.user"),
        password=value("database.password"),
        connection={
            of_libpq: given[name] for name, of_libpq in _CONNECTION.items() if name in given
        },
        tables=TableFilter(
            *(patterns(name, given.get(name, "")) for name in _LISTS),
        ),
        slot_name=slot,
        publication_name=value("publication.name") or slot,
        autocreate=_choice(given, "publication.autocreate.mode", AutocreateMode, "filtered"),
        snapshot_mode=_snapshot_mode(given),
        snapshot_rows=_parsed(given, "snapshot.fetch.size", "50000", _number(1)),
        signal_table=_parsed(given, "signal.data.collection", "", _table_name),
        incremental_rows=_parsed(given, "incremental.snapshot.chunk.size", "20000", _number(1)),
        skipped_operations=_operations(given),
        message_prefixes=patterns(
            "message.prefix.include.list", given.get("message.prefix.include.list", "")
        ),
        tombstones=_parsed(given, "tombstones.on.delete", "true", _boolean),
        transaction_metadata=_parsed(given, "provide.transaction.metadata", "false", _boolean),
        heartbeat_ms=_parsed(given, "heartbeat.interval.ms", "0", _number(0)),
        slot_retries=_parsed(given, "slot.max.retries", "6", _number(0)),
        slot_retry_delay_ms=_parsed(given, "slot.retry.delay.ms", "1000", _number(0)),
        unavailable_value=given.get("unavailable.value.placeholder", UNAVAILABLE_VALUE),
        representation=Representation(
            _choice(given, "decimal.handling.mode", DecimalMode, "precise"),
            _choice(given, "time.precision.mode", TimeMode, "adaptive"),
            _choice(given, "binary.handling.mode", BinaryMode, "bytes"),
            _choice(given, "interval.handling.mode", IntervalMode, "numeric"),
            _choice(given, "hstore.handling.mode", HstoreMode, "json"),
        ),
    )


def default_slot(prefix: str) -> str:
    """The name of a slot for what has this name."""
    return f"barnabas_{re.sub('[^a-z0-9_]', '_', prefix.lower())}"[:63]


_CONNECTION = {
    "database.sslmode": "sslmode",
    "database.sslrootcert": "sslrootcert",
    "database.sslcert": "sslcert",
    "database.sslkey": "sslkey",
}
_LISTS = (
    "schema.include.list",
    "schema.exclude.list",
    "table.include.list",
    "table.exclude.list",
    "column.include.list",
    "column.exclude.list",
)
SETTINGS: Final = frozenset(
    {
        "binary.handling.mode",
        "database.dbname",
        "database.hostname",
        "database.password",
        "database.port",
        "database.user",
        "decimal.handling.mode",
        "heartbeat.interval.ms",
        "hstore.handling.mode",
        "incremental.snapshot.chunk.size",
        "interval.handling.mode",
        "message.prefix.include.list",
        "provide.transaction.metadata",
        "publication.autocreate.mode",
        "publication.name",
        "signal.data.collection",
        "skipped.operations",
        "slot.max.retries",
        "slot.name",
        "slot.retry.delay.ms",
        "snapshot.fetch.size",
        "snapshot.mode",
        "time.precision.mode",
        "tombstones.on.delete",
        "topic.prefix",
        "unavailable.value.placeholder",
        *_CONNECTION,
        *_LISTS,
    }
)
"""Names of settings that have an effect."""

_ONLY = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "plugin.name": "pgoutput",
    "tasks.max": "1",
    "slot.drop.on.stop": "false",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "include.unknown.datatypes": "true",
    "signal.enabled.channels": "source",
}
"""Settings of Debezium that have one value here."""

_INSTEAD = {
    "database.server.name": "use topic.prefix",
    "table.whitelist": "use table.include.list",
    "table.blacklist": "use table.exclude.list",
    "column.whitelist": "use column.include.list",
    "column.blacklist": "use column.exclude.list",
    "message.key.columns": "give the table a primary key, or set its REPLICA IDENTITY",
    "heartbeat.action.query": "leave it out: a slot moves on also while its tables are idle",
    "max.batch.size": "use max_changes_per_batch",
    "poll.interval.ms": "use the trigger of the pipeline",
    "transforms": "write a query in the pipeline",
}


def _check_name(name: str, value: str) -> None:
    if name in SETTINGS:
        return
    if name in _ONLY:
        if value != _ONLY[name]:
            raise InvalidArgument(f"{name}={value!r}: only {_ONLY[name]} is supported")
        return
    if name in _INSTEAD:
        raise InvalidArgument(f"{name} is not supported: {_INSTEAD[name]}")
    like = get_close_matches(name.lower(), SETTINGS, 1, 0.6)
    hint = f"did you mean {like[0]}?" if like else "leave it out"
    raise InvalidArgument(f"unknown setting {name!r}: {hint}")


def _required(given: Mapping[str, str], name: str, what: str) -> str:
    value = given.get(name)
    if not value:
        raise InvalidArgument(f"set {name}: {what}")
    return value


def _parsed(given: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    text = given.get(name, default)
    try:
        return parse(text.strip())
    except ValueError as error:
        raise InvalidArgument(f"{name}={text!r}: {error}") from None


def _optional(given: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T | None:
    return _parsed(given, name, "", parse) if name in given else None


def _number(least: int, most: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        if not text.isdecimal() or not least <= int(text) <= (int(text) if most is None else most):
            raise ValueError(f"use a number, {bounds}")
        return int(text)

    return parse


def _table_name(text: str) -> str:
    if text and not all(text.partition(".")):
        raise ValueError("use schema.table, such as public.debezium_signal")
    return text


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("use true or false")
    return text.lower() == "true"


def _choice(given: Mapping[str, str], name: str, choices: Any, default: str) -> Any:
    names = [each for each in get_args(choices) if each != "plain"]

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"use {', '.join(names[:-1])} or {names[-1]}")
        return text

    return _parsed(given, name, default, parse)


def _snapshot_mode(given: Mapping[str, str]) -> SnapshotMode:
    older = {"never": "no_data", "schema_only": "no_data"}
    text = given.get("snapshot.mode", "initial")
    mode: SnapshotMode = _choice(
        {"snapshot.mode": older.get(text, text)}, "snapshot.mode", SnapshotMode, "initial"
    )
    return mode


def _operations(given: Mapping[str, str]) -> frozenset[str]:
    def parse(text: str) -> frozenset[str]:
        found = frozenset(each.strip() for each in text.split(","))
        if found == {"none"}:
            return frozenset()
        if not found <= _OPERATIONS:
            raise ValueError("use none, or some of c, u, d, t with commas")
        return found

    return _parsed(given, "skipped.operations", "t", parse)
