"""MySQL and MariaDB, by PyMySQL.

Statements that change tables commit what came before them, so they come before the transaction of
a batch. Only tables whose engine has transactions are written: others would keep half a batch.
"""

from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.types import StructField

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.dialect import Dialect, Target
from barnabas.spark.pipelines.databases.session import CursorSession, Session
from barnabas.spark.pipelines.postgres.connection import shown

_CONNECT_TIMEOUT_S = 10
_ANSWER_TIMEOUT_S = 600
_STRICT = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION"
_IN_KEYS = {"LONGTEXT": "VARCHAR(255)", "LONGBLOB": "VARBINARY(255)"}
_PORT = 3306
_IN_QUERY = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "charset")


class MySql(Dialect):
    """MySQL and MariaDB. A place is a URL."""

    name = "MySQL"
    driver = "pymysql"
    extra = "mysql"
    begin = "START TRANSACTION"
    mark = "%s"
    locking = "FOR UPDATE"
    types: ClassVar[dict[type[t.DataType], str]] = {
        t.ArrayType: "JSON",
        t.BinaryType: "LONGBLOB",
        t.BooleanType: "BOOLEAN",
        t.ByteType: "TINYINT",
        t.CharType: "LONGTEXT",
        t.DateType: "DATE",
        t.DecimalType: "DECIMAL({}, {})",
        t.DoubleType: "DOUBLE",
        t.FloatType: "FLOAT",
        t.IntegerType: "INT",
        t.LongType: "BIGINT",
        t.MapType: "JSON",
        t.ShortType: "SMALLINT",
        t.StringType: "LONGTEXT",
        t.StructType: "JSON",
        t.TimestampNTZType: "DATETIME(6)",
        t.TimestampType: "DATETIME(6)",
        t.VarcharType: "LONGTEXT",
    }

    def connect(self, place: str) -> Session:
        pymysql: Any = import_module(self.driver)
        return CursorSession(
            pymysql.connect(
                **mysql_arguments(place),
                connect_timeout=_CONNECT_TIMEOUT_S,
                read_timeout=_ANSWER_TIMEOUT_S,
                write_timeout=_ANSWER_TIMEOUT_S,
                autocommit=True,
                init_command=f"SET SESSION sql_mode = '{_STRICT}', time_zone = '+00:00'",
            )
        )

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (import_module(self.driver).MySQLError,)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``").replace("%", "%%") + "`"

    def columns(self, session: Session, table: str) -> list[str]:
        return [str(row[0]) for row in self._of_table(session, "column_name", "columns", table)]

    def check_table(self, session: Session, target: Target) -> None:
        ((engine,),) = self._of_table(session, "engine", "tables", target.table)
        if str(engine).lower() != "innodb":
            raise InvalidArgument(
                f"table {target.table} has the engine {engine}, which has no transactions: "
                f"ALTER TABLE {target.table} ENGINE = InnoDB"
            )
        if not target.key:
            return
        found = self._of_table(
            session, "index_name, column_name", "statistics", target.table, "AND non_unique = 0"
        )
        indexes: dict[str, set[str]] = {}
        for index, column in found:
            indexes.setdefault(str(index), set()).add(str(column).lower())
        if {each.lower() for each in target.key} not in indexes.values():
            key = ", ".join(target.key)
            raise InvalidArgument(
                f"table {target.table} has no primary key or unique index on ({key}), which "
                f"upserts need: ALTER TABLE {target.table} ADD PRIMARY KEY ({key})"
            )

    def creation(self, table: str, fields: Any, key: Any) -> str:
        made = super().creation(table, fields, key)
        return f"{made} ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

    def type_name(self, field: StructField, *, is_key: bool) -> str:
        name = super().type_name(field, is_key=is_key)
        return _IN_KEYS.get(name, name) if is_key else name

    def column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_timestamp(values.type) and values.type.tz is not None:
            return values.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
        return values

    def _of_table(
        self, session: Session, what: str, view: str, table: str, more: str = ""
    ) -> list[tuple[Any, ...]]:
        schema, _, name = table.rpartition(".")
        statement = (
            f"SELECT {what} FROM information_schema.{view} WHERE table_name = %s "  # noqa: S608 - ours
            f"AND table_schema = coalesce(%s, database()) {more}"
        )
        return session.execute(statement, (name, schema or None))

    def _on_conflict(self, target: Target) -> str:
        names = target.others or target.key[:1]
        new = ", ".join(f"{each} = VALUES({each})" for each in map(self.quoted, names))
        return f"ON DUPLICATE KEY UPDATE {new}"


def mysql_arguments(url: str) -> dict[str, Any]:
    """A URL as arguments of the driver; raises `InvalidArgument`."""
    form = "mysql://user:password@host:3306/database"
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
    except ValueError as error:
        raise InvalidArgument(f"{shown(url)} is not a URL such as {form}: {error}") from None
    database = unquote(parts.path.lstrip("/"))
    if parts.scheme not in ("mysql", "mariadb") or not database:
        raise InvalidArgument(f"{shown(url)} is not a URL such as {form}")
    arguments: dict[str, Any] = {"database": database, "charset": "utf8mb4", "port": port}
    if parts.hostname:
        arguments["host"] = parts.hostname
    if parts.username:
        arguments["user"] = unquote(parts.username)
    if parts.password:
        arguments["password"] = unquote(parts.password)
    for name, value in parse_qsl(parts.query):
        if name not in _IN_QUERY:
            raise InvalidArgument(
                f"{name} in the URL is not supported; use {', '.join(_IN_QUERY)} there"
            )
        arguments[name] = value
    return arguments
