"""Change data capture from MySQL and MariaDB, as a stream of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pyspark.sql.types import StructType

from barnabas.changes.mysql.connection import driver
from barnabas.changes.mysql.settings import MARIADB_CLASS, mysql_settings
from barnabas.spark.changes.data_source import MYSQL_NAME
from barnabas.spark.pipelines.argument_names import option_texts
from barnabas.spark.pipelines.databases.mysql import mysql_arguments
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.expectations.expectation import Expectation, checked_rules
from barnabas.spark.pipelines.sources.table_changes import (
    MissingColumns,
    TableChangesSource,
    table_names,
)

_OF_URL = {
    "host": "database.hostname",
    "port": "database.port",
    "user": "database.user",
    "password": "database.password",
    "unix_socket": "database.unix.socket",
    "ssl_ca": "database.ssl.ca",
    "ssl_cert": "database.ssl.cert",
    "ssl_key": "database.ssl.key",
}


@dataclass(frozen=True)
class MySqlChangesSource(TableChangesSource):
    """Changes of tables. See `from_mysql_changes`."""

    data_source: ClassVar[str] = MYSQL_NAME

    def check_settings(self) -> None:
        mysql_settings(self._settings())

    def options(self, environment: Environment) -> dict[str, str]:
        del environment
        return self._settings()

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        """Another version reads everything again, from the same log."""
        del version, topics
        return self

    def _settings(self) -> dict[str, str]:
        arguments = mysql_arguments(self.url)
        of_url = {
            setting: str(arguments[name]) for name, setting in _OF_URL.items() if name in arguments
        }
        if self.url.startswith("mariadb:"):
            of_url["connector.class"] = MARIADB_CLASS
        given = {
            "database.hostname": "localhost",
            "table.include.list": ",".join(self.tables),
            "topic.prefix": str(arguments["database"]),
            **of_url,
            **self.settings,
        }
        return {name: value for name, value in given.items() if value}


def from_mysql_changes(
    url: str,
    tables: str | Sequence[str],
    schema: str | StructType | None = None,
    *,
    topic_prefix: str | None = None,
    snapshot: str | None = None,
    watermark: str | None = None,
    max_changes_per_batch: int = 100_000,
    expect: Sequence[Expectation] = (),
    missing_columns: MissingColumns | None = None,
    **settings: Any,
) -> MySqlChangesSource:
    """Capture changes from MySQL or MariaDB: existing rows, then every change in the binary log.

    - `url`: such as `mysql://user:password@host:3306/database`, or `mariadb://...`.
    - `tables`: regular expressions for `database.table`; a name without a database is in that of
      the URL.
    - `schema`: the columns of the tables, in Spark's DDL. A row is a table row, or the known
      columns of a deleted one, with a column `change` that has the operation (`op`: c, u, d, or r
      for a snapshot), `lsn`, `time` and more. Without a schema, rows are records in
      Debezium's envelope, with columns `topic`, `key`, `value`.
    - `topic_prefix`: prefix of those topics; by default the name of the database.
    - `snapshot`: `initial`, `initial_only`, or `no_data` to skip existing rows.
    - `watermark`: a column and how late its rows may be, such as `"at 10 minutes"`.
    - `max_changes_per_batch`: the approximate size of a batch; a transaction is never divided.
    - `expect`: rules for the rows (`expect`).
    - `missing_columns`: what happens if a table has no such column as the schema, because it was
      renamed or dropped: `fail`, the default for a single table, or `null`.
    - `settings`: other Debezium settings; `__` stands for a dot.
    """
    driver()
    database = str(mysql_arguments(url)["database"])
    given = option_texts(settings)
    for name, value in (("topic.prefix", topic_prefix), ("snapshot.mode", snapshot)):
        if value is not None:
            given[name] = value
    return MySqlChangesSource(
        url,
        table_names(tables, database, "from_mysql_changes"),
        schema,
        watermark,
        max_changes_per_batch,
        given,
        checked_rules(expect),
        missing_columns,
    )
