"""Settings of a stream of changes, under the names that Debezium gives them.

Each one is used or refused: a setting of Debezium that would have no effect here is an error that
says so. Errors never show the value of a password.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from barnabas.changes.json_values import BinaryMode, DecimalMode, TimeMode
from barnabas.changes.postgres.values import HstoreMode, IntervalMode, Representation
from barnabas.changes.setting_values import (
    boolean,
    check_names,
    choice,
    number,
    operations,
    optional,
    parsed,
    query_timeout_s,
    required,
    signal_table,
    snapshot_mode,
    topic_prefix,
)
from barnabas.changes.table_filter import TableFilter, patterns
from barnabas.errors import InvalidArgument

SnapshotMode = Literal["initial", "initial_only", "no_data", "always", "when_needed"]
AutocreateMode = Literal["all_tables", "filtered", "disabled"]

UNAVAILABLE_VALUE: Final = "__debezium_unavailable_value"

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


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
    query_timeout_s: float = 600.0
    """How long the server may take for an answer, or for its next rows."""
    slot_retries: int = 6
    slot_retry_delay_ms: int = 1_000
    unavailable_value: str = UNAVAILABLE_VALUE
    representation: Representation = field(default_factory=Representation)


def change_settings(given: Mapping[str, str]) -> ChangeSettings:
    """Checked settings; raises `InvalidArgument`, which names the setting and what to write."""
    check_names(given, SETTINGS, _ONLY, _INSTEAD)

    def value(name: str, default: str | None = None) -> str | None:
        return given.get(name, default)

    prefix = topic_prefix(given)
    slot = value("slot.name") or default_slot(prefix)
    if not _SLOT.fullmatch(slot):
        raise InvalidArgument(
            f"slot.name={slot!r}: PostgreSQL takes at most 63 lower-case letters, digits and '_'"
        )
    return ChangeSettings(
        dbname=required(given, "database.dbname", "the database whose changes are read"),
        topic_prefix=prefix,
        hostname=value("database.hostname"),
        port=optional(given, "database.port", number(1, 65_535)),
        user=value("database.user"),
        password=value("database.password"),
        connection={
            of_libpq: given[name] for name, of_libpq in _CONNECTION.items() if name in given
        },
        tables=TableFilter(
            _SYSTEM_SCHEMAS, *(patterns(name, given.get(name, "")) for name in _LISTS)
        ),
        slot_name=slot,
        publication_name=value("publication.name") or slot,
        autocreate=choice(given, "publication.autocreate.mode", AutocreateMode, "filtered"),
        snapshot_mode=snapshot_mode(given, SnapshotMode),
        snapshot_rows=parsed(given, "snapshot.fetch.size", "50000", number(1)),
        signal_table=signal_table(given, "public.debezium_signal"),
        incremental_rows=parsed(given, "incremental.snapshot.chunk.size", "20000", number(1)),
        skipped_operations=operations(given),
        message_prefixes=patterns(
            "message.prefix.include.list", given.get("message.prefix.include.list", "")
        ),
        tombstones=parsed(given, "tombstones.on.delete", "true", boolean),
        transaction_metadata=parsed(given, "provide.transaction.metadata", "false", boolean),
        heartbeat_ms=parsed(given, "heartbeat.interval.ms", "0", number(0)),
        query_timeout_s=query_timeout_s(given),
        slot_retries=parsed(given, "slot.max.retries", "6", number(0)),
        slot_retry_delay_ms=parsed(given, "slot.retry.delay.ms", "1000", number(0)),
        unavailable_value=given.get("unavailable.value.placeholder", UNAVAILABLE_VALUE),
        representation=Representation(
            choice(given, "decimal.handling.mode", DecimalMode, "precise"),
            choice(given, "time.precision.mode", TimeMode, "adaptive"),
            choice(given, "binary.handling.mode", BinaryMode, "bytes"),
            choice(given, "interval.handling.mode", IntervalMode, "numeric"),
            choice(given, "hstore.handling.mode", HstoreMode, "json"),
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
_SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema", "pg_toast"})
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
        "database.query.timeout.ms",
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
    "connector.class": ["io.debezium.connector.postgresql.PostgresConnector"],
    "plugin.name": ["pgoutput"],
    "tasks.max": ["1"],
    "slot.drop.on.stop": ["false"],
    "key.converter.schemas.enable": ["false"],
    "value.converter.schemas.enable": ["false"],
    "include.unknown.datatypes": ["true"],
    "signal.enabled.channels": ["source"],
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
