"""Settings of a stream of changes, under the names that Debezium gives them.

Each one is used or refused: a setting of Debezium that would have no effect here is an error that
says so. Errors never show the value of a password.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from barnabas.changes.json_values import BinaryMode, DecimalMode
from barnabas.changes.mysql.values import Representation, TimeMode, UnsignedMode
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

SnapshotMode = Literal["initial", "initial_only", "no_data"]

MYSQL_CLASS: Final = "io.debezium.connector.mysql.MySqlConnector"
MARIADB_CLASS: Final = "io.debezium.connector.mariadb.MariaDbConnector"
_MOST_SERVER_ID: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class MySqlSettings:
    """Which changes of which server, and how they are written. See `mysql_settings`."""

    topic_prefix: str
    connector: str
    """As `source` names it: mysql or mariadb."""
    hostname: str
    port: int = 3306
    user: str = "root"
    password: str | None = field(default=None, repr=False)
    socket: str | None = None
    """Path of the server's socket, instead of a host."""
    tls: Mapping[str, str] = field(default_factory=dict)
    """Files for TLS, as the driver names them."""
    server_id: int | None = None
    tables: TableFilter = field(default_factory=TableFilter)
    snapshot_mode: SnapshotMode = "initial"
    snapshot_rows: int = 50_000
    """Rows that are read at a time."""
    signal_table: str = ""
    """Where signals are written, as database.table; empty if none are read."""
    incremental_rows: int = 20_000
    """Rows of a chunk of an incremental snapshot."""
    query_timeout_s: float = 600.0
    """How long the server may take for an answer, or for its next rows."""
    skipped_operations: frozenset[str] = frozenset("t")
    tombstones: bool = True
    transaction_metadata: bool = False
    representation: Representation = field(default_factory=Representation)


def mysql_settings(given: Mapping[str, str]) -> MySqlSettings:
    """Checked settings; raises `InvalidArgument`, which names the setting and what to write."""
    check_names(given, MYSQL_SETTINGS, _ONLY, _INSTEAD)
    return MySqlSettings(
        topic_prefix=topic_prefix(given),
        connector="mariadb" if given.get("connector.class") == MARIADB_CLASS else "mysql",
        hostname=required(given, "database.hostname", "the server, such as localhost"),
        port=parsed(given, "database.port", "3306", number(1, 65_535)),
        user=required(given, "database.user", "a user with REPLICATION SLAVE and SELECT"),
        password=given.get("database.password"),
        socket=given.get("database.unix.socket"),
        tls={of: given[name] for name, of in _TLS.items() if name in given},
        server_id=optional(given, "database.server.id", number(1, _MOST_SERVER_ID)),
        tables=TableFilter(
            _SYSTEM_DATABASES, *(patterns(name, given.get(name, "")) for name in _LISTS)
        ),
        snapshot_mode=snapshot_mode(given, SnapshotMode),
        snapshot_rows=parsed(given, "snapshot.fetch.size", "50000", number(1)),
        signal_table=signal_table(given, "shop.debezium_signal"),
        incremental_rows=parsed(given, "incremental.snapshot.chunk.size", "20000", number(1)),
        query_timeout_s=query_timeout_s(given),
        skipped_operations=operations(given),
        tombstones=parsed(given, "tombstones.on.delete", "true", boolean),
        transaction_metadata=parsed(given, "provide.transaction.metadata", "false", boolean),
        representation=Representation(
            choice(given, "decimal.handling.mode", DecimalMode, "precise"),
            choice(given, "time.precision.mode", TimeMode, "adaptive_time_microseconds"),
            choice(given, "binary.handling.mode", BinaryMode, "bytes"),
            choice(given, "bigint.unsigned.handling.mode", UnsignedMode, "long"),
        ),
    )


_TLS = {
    "database.ssl.ca": "ssl_ca",
    "database.ssl.cert": "ssl_cert",
    "database.ssl.key": "ssl_key",
}
_SYSTEM_DATABASES = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
_LISTS = (
    "database.include.list",
    "database.exclude.list",
    "table.include.list",
    "table.exclude.list",
    "column.include.list",
    "column.exclude.list",
)
MYSQL_SETTINGS: Final = frozenset(
    {
        "bigint.unsigned.handling.mode",
        "binary.handling.mode",
        "database.hostname",
        "database.password",
        "database.port",
        "database.query.timeout.ms",
        "database.server.id",
        "database.unix.socket",
        "database.user",
        "decimal.handling.mode",
        "incremental.snapshot.chunk.size",
        "provide.transaction.metadata",
        "signal.data.collection",
        "skipped.operations",
        "snapshot.fetch.size",
        "snapshot.mode",
        "time.precision.mode",
        "tombstones.on.delete",
        "topic.prefix",
        *_TLS,
        *_LISTS,
    }
)
"""Names of settings that have an effect."""

_ONLY = {
    "connector.class": [
        MYSQL_CLASS,
        MARIADB_CLASS,
    ],
    "tasks.max": ["1"],
    "include.schema.changes": ["false"],
    "include.query": ["false"],
    "signal.enabled.channels": ["source"],
    "snapshot.locking.mode": ["minimal", "none"],
    "key.converter.schemas.enable": ["false"],
    "value.converter.schemas.enable": ["false"],
}
"""Settings of Debezium that have no effect with these values."""

_HISTORY = "leave it out: shapes of tables come from the log and the catalog, no history is kept"
_INSTEAD = {
    "database.server.name": "use topic.prefix",
    "table.whitelist": "use table.include.list",
    "table.blacklist": "use table.exclude.list",
    "column.whitelist": "use column.include.list",
    "column.blacklist": "use column.exclude.list",
    "database.whitelist": "use database.include.list",
    "database.ssl.mode": "set database.ssl.ca (and database.ssl.cert, database.ssl.key)",
    "message.key.columns": "give the table a primary key",
    "gtid.source.includes": "positions are those of one server, by file and offset",
    "gtid.source.excludes": "positions are those of one server, by file and offset",
    "heartbeat.interval.ms": "leave it out: positions move on also while tables are idle",
    "heartbeat.action.query": "leave it out: positions move on also while tables are idle",
    "max.batch.size": "use max_changes_per_batch",
    "poll.interval.ms": "use the trigger of the pipeline",
    "schema.history.internal.kafka.bootstrap.servers": _HISTORY,
    "schema.history.internal.kafka.topic": _HISTORY,
    "transforms": "write a query in the pipeline",
}
