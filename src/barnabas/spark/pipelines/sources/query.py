"""Rows of a database query: new rows, or all rows periodically."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.query_driver import check_place
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.databases.query_values import converters
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import part_of_source
from barnabas.spark.pipelines.expectations.expectation import Expectation, checked_rules
from barnabas.spark.pipelines.sources.connector import ConnectorSource
from barnabas.spark.pipelines.sources.query_rows import QueryRows

_NAME = re.compile(r"[A-Za-z_]\w*$")
_EVERY_S = 1
_WHOLE_EVERY_S = 60


@dataclass(frozen=True)
class QuerySource(ConnectorSource):
    """Rows of a query. See `from_query`."""

    def load(self, environment: Environment) -> DataFrame:
        # Workers can't parse a schema in Spark's DDL.
        with part_of_source("schema"):
            fields = self._fields()
            converters(fields)
        assert isinstance(self.connector, QueryRows)
        parsed = replace(self, connector=replace(self.connector, fields=fields))
        return super(QuerySource, parsed).load(environment)


def from_query(
    url: str,
    query: str,
    schema: str | StructType,
    *,
    id: str | None = None,  # noqa: A002 - the word that everybody has for it
    timestamp: str | None = None,
    delay_s: int = 5,
    every_s: int | None = None,
    max_rows_per_batch: int = 100_000,
    jar: str | Sequence[str] = (),
    user: str | None = None,
    password: str | None = None,
    timeout_s: int = 300,
    watermark: str | None = None,
    expect: Sequence[Expectation] = (),
) -> QuerySource:
    """The rows of a query or table: new ones since the last batch, or all periodically.

    - `url`: `sqlite:PATH`, `duckdb:PATH`, `postgresql://…`, `mysql://…`, or `jdbc:…` of any
      database, with the JARs of its driver.
    - `query`: a query, or the name of a table.
    - `schema`: the columns to read, in Spark's DDL.
    - `id`: a column that grows with every row; rows after the last one seen are read.
    - `timestamp`: a column with the time of a row's last change; with `id`, which distinguishes
      rows of the same time. Without either, all rows are read every `every_s`.
    - `delay_s`: a row is read that long after a row with its value, or a greater one, was first
      seen, so that rows whose transactions commit late are not missed.
    - `every_s`: seconds between queries; 1 by default, and 60 where all rows are read.
    - `max_rows_per_batch`: rows in a micro-batch; more if they have the same timestamp.
    - `jar`: the JARs of a JDBC driver, separated by commas.
    - `user`, `password`: for JDBC, if they are not in the URL.
    - `timeout_s`: how long to wait for the server's response, or for its next rows.
    - `watermark`, `expect`: as with other sources.
    """
    jars = jar.split(",") if isinstance(jar, str) else jar
    found = tuple(each.strip() for each in jars if each.strip())
    place = QueryPlace(url, timeout_s, found, user, password)
    check_place(place)
    if not query.strip():
        raise InvalidArgument("query has to be a query, or the name of a table")
    for name, column in (("id", id), ("timestamp", timestamp)):
        if column is not None and not _NAME.match(column):
            raise InvalidArgument(f"{name} has to be the name of a column, not {column!r}")
    by = tuple(each for each in (timestamp, id) if each is not None)
    every = every_s if every_s is not None else (_EVERY_S if by else _WHOLE_EVERY_S)
    for name, value, least in (
        ("delay_s", delay_s, 0),
        ("every_s", every, 0),
        ("max_rows_per_batch", max_rows_per_batch, 1),
        ("timeout_s", timeout_s, 1),
    ):
        if value < least:
            raise InvalidArgument(f"{name} is {least} or more, not {value}")
    rows = QueryRows(place, query, schema, by, delay_s, every, max_rows_per_batch)
    return QuerySource(rows, watermark, checked_rules(expect))
