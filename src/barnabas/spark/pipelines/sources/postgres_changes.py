"""Changes of tables in a PostgreSQL as a stream of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.changes.postgres.settings import change_settings, default_slot
from barnabas.errors import InvalidArgument
from barnabas.spark.changes.change_columns import CHANGE, ENVELOPE
from barnabas.spark.changes.data_source import NAME, register_changes
from barnabas.spark.changes.stream_reader import FORMAT_OPTION, LIMIT_OPTION
from barnabas.spark.pipelines.argument_names import option_texts
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded
from barnabas.spark.pipelines.postgres.connection import check_driver, not_a_url, shown
from barnabas.spark.pipelines.sources.expected_rows import with_expectations
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.sources.files import FilesSource
from barnabas.spark.pipelines.sources.record_schema import schema_problems
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.watermark import split_watermark, with_watermark

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
class PostgresChangesSource(Source):
    """Changes of tables. See `from_postgres_changes`."""

    waits_for_rows: ClassVar[bool] = True
    url: str = field(repr=False)
    tables: tuple[str, ...]
    schema: str | StructType | None = None
    watermark: str | None = None
    max_changes_per_batch: int = 100_000
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    expect: tuple[Expectation, ...] = ()

    def __post_init__(self) -> None:
        if self.watermark is not None:
            split_watermark(self.watermark)
        if self.max_changes_per_batch < 1:
            raise InvalidArgument(
                f"max_changes_per_batch is 1 or more, not {self.max_changes_per_batch}"
            )
        if sends_dead_letters(self.expect):
            raise InvalidArgument(
                'on_failure="dead_letter" is for sources of topics: changes have no record; drop '
                "them"
            )
        change_settings(self._settings("any"))

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return self.expect

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        return replace(self, expect=checked_rules(rules))

    def describe(self) -> str:
        return f"changes of {', '.join(self.tables)} in {shown(self.url)}"

    def load(self, environment: Environment) -> DataFrame:
        register_changes(environment.spark)
        names = [each for each in (environment.group_id, environment.source) if each is not None]
        options = self._settings(default_slot("_".join(names) or "changes"))
        options[FORMAT_OPTION] = "debezium" if self.schema is None else "rows"
        options[LIMIT_OPTION] = str(self.max_changes_per_batch)
        rows = environment.spark.readStream.format(NAME).options(**options).load()
        if self.schema is not None:
            change = F.struct(*CHANGE.names).alias("change")
            values = JsonValues(self.schema)
            with part_of_source("schema"):
                _ = values.fields  # Spark parses it now, and its errors don't say what it parsed
            rows = decoded(
                rows.withColumn("value", F.col("value").cast("binary")),
                values,
                [change],
                skip=False,
            )
        return with_watermark(with_expectations(rows, self, environment), self.watermark)

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems("json", self.schema)

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        """Another version reads everything again, with a separate slot."""
        del topics
        if _SLOT not in self.settings:
            return self
        slot = f"{self.settings[_SLOT]}_{version}"
        return replace(self, settings={**self.settings, _SLOT: default_slot(slot)})

    def in_test(self, folder: Path) -> "FedChanges":
        fields = ENVELOPE if self.schema is None else JsonValues(self.schema).fields
        if self.schema is not None:
            fields = StructType([*fields.fields, StructField("change", CHANGE)])
        return FedChanges(str(folder), fields, "parquet", self.watermark, {}, self.expect)

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


@dataclass(frozen=True)
class FedChanges(FilesSource):
    """What a test feeds instead: rows of the table, with `change` where it is not a create."""

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        created = {"op": "c", "snapshot": False, "unavailable": []}
        super().feed(
            feed,
            [
                {**each, "change": {**created, **each.get("change", {})}}
                if isinstance(each, Mapping)
                else each
                for each in rows
            ],
            key,
        )


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
    **settings: Any,
) -> PostgresChangesSource:
    """What tables of a PostgreSQL have, and then every change, by logical replication.

    - `url`: such as `postgresql://user@host:5432/database`. What it leaves out, such as a password,
      is found as by PostgreSQL's own tools (`PGPASSWORD`, `~/.pgpass`).
    - `tables`: regular expressions for `schema.table`; a name without a schema is in `public`.
    - `schema`: the columns of the tables, in Spark's DDL. A row is a row of the table, or of a
      deleted one what is known of it, and has a column `change` with its operation (`op`: c, u, d,
      or r for what was there before), `lsn`, `time` and more. Without a schema, rows are records in
      Debezium's envelope, with columns `topic`, `key`, `value`.
    - `topic_prefix`: how those topics start; the name of the database if it is not given.
    - `slot`, `publication`: their names, which are made from the pipeline's if not given.
    - `snapshot`: `initial`, `initial_only`, `no_data` to leave out what is there already, `always`
      to read the tables at each start, or `when_needed` to read them again if the slot is lost.
    - `watermark`: a column and how late its rows may be, such as `"at 10 minutes"`.
    - `max_changes_per_batch`: the approximate size of a batch; a transaction is never divided.
    - `expect`: rules for the rows (`expect`).
    - `settings`: more settings of Debezium; `__` stands for a dot.
    """
    check_driver()
    names = tables.split(",") if isinstance(tables, str) else tables
    whole = tuple(
        each.strip() if "." in each else f"public.{each.strip()}" for each in names if each.strip()
    )
    if not whole:
        raise InvalidArgument("from_postgres_changes: name a table, such as public.orders")
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
        url, whole, schema, watermark, max_changes_per_batch, given, checked_rules(expect)
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
