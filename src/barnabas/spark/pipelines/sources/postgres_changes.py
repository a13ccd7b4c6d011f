"""Change data capture from PostgreSQL, as a stream of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pyspark.sql.types import StructType

from barnabas.changes.postgres.settings import change_settings, default_slot
from barnabas.errors import InvalidArgument
from barnabas.spark.changes.data_source import NAME
from barnabas.spark.pipelines.argument_names import option_texts
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
)
from barnabas.spark.pipelines.postgres.connection import check_driver, not_a_url
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
    "dbname": "database.dbname",
    "sslmode": "database.sslmode",
    "sslrootcert": "database.sslrootcert",
    "sslcert": "database.sslcert",
    "sslkey": "database.sslkey",
}
_SLOT = "slot.name"


@dataclass(frozen=True)
class PostgresChangesSource(TableChangesSource):
    """Changes of tables. See `from_postgres_changes`."""

    data_source: ClassVar[str] = NAME

    def check_settings(self) -> None:
        change_settings(self._settings("any"))

    def options(self, environment: Environment) -> dict[str, str]:
        names = [each for each in (environment.group_id, environment.source) if each is not None]
        return self._settings(default_slot("_".join(names) or "changes"))

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        """Another version reads everything again, with a separate slot."""
        del topics
        if _SLOT not in self.settings:
            return self
        slot = f"{self.settings[_SLOT]}_{version}"
        return replace(self, settings={**self.settings, _SLOT: default_slot(slot)})

    def _settings(self, slot: str) -> dict[str, str]:
        of_url = _settings_of(self.url)
        given = {
            _SLOT: slot,
            "table.include.list": ",".join(self.tables),
            "topic.prefix": of_url.get("database.dbname", ""),
            **of_url,
            **self.settings,
        }
        return {name: value for name, value in given.items() if value}


def from_postgres_changes(
    url: str,
    tables: str | Sequence[str],
    schema: str | StructType | None = None,
    *,
    topic_prefix: str | None = None,
    slot: str | None = None,
    publication: str | None = None,
    snapshot: str | None = None,
    watermark: str | None = None,
    max_changes_per_batch: int = 100_000,
    expect: Sequence[Expectation] = (),
    missing_columns: MissingColumns | None = None,
    **settings: Any,
) -> PostgresChangesSource:
    """Capture changes from PostgreSQL: existing rows, then every change (logical replication).

    - `url`: such as `postgresql://user@host:5432/database`. Missing parts, such as a password, are
      taken from where PostgreSQL's own tools take them (`PGPASSWORD`, `~/.pgpass`).
    - `tables`: regular expressions for `schema.table`; a name without a schema is in `public`.
    - `schema`: the columns of the tables, in Spark's DDL. A row is a table row, or the known
      columns of a deleted one, with a column `change` that has the operation (`op`: c, u, d, or r
      for a snapshot), `lsn`, `time` and more. Without a schema, rows are records in
      Debezium's envelope, with columns `topic`, `key`, `value`.
    - `topic_prefix`: prefix of those topics; by default the name of the database.
    - `slot`, `publication`: their names; by default made from the pipeline's name.
    - `snapshot`: `initial`, `initial_only`, `no_data` to skip existing rows, `always`
      to read the tables at each start, or `when_needed` to read them again if the slot is lost.
    - `watermark`: a column and how late its rows may be, such as `"at 10 minutes"`.
    - `max_changes_per_batch`: the approximate size of a batch; a transaction is never divided.
    - `expect`: rules for the rows (`expect`).
    - `missing_columns`: what happens if a table has no such column as the schema, because it was
      renamed or dropped: `fail`, the default for a single table, or `null`.
    - `settings`: other Debezium settings; `__` stands for a dot.
    """
    check_driver()
    whole = table_names(tables, "public", "from_postgres_changes")
    given = option_texts(settings)
    for name, value in (
        ("topic.prefix", topic_prefix),
        (_SLOT, slot),
        ("publication.name", publication),
        ("snapshot.mode", snapshot),
    ):
        if value is not None:
            given[name] = value
    return PostgresChangesSource(
        url,
        whole,
        schema,
        watermark,
        max_changes_per_batch,
        given,
        checked_rules(expect),
        missing_columns,
    )


def _settings_of(url: str) -> dict[str, str]:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise not_a_url(url, error) from None
    for name in parts:
        if name not in _OF_URL:
            raise InvalidArgument(
                f"{name} in the URL is not supported; use {', '.join(_OF_URL)} there"
            )
    return {_OF_URL[name]: str(value) for name, value in parts.items() if value is not None}
