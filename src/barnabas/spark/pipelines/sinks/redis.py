"""Rows as keys of a Redis: hashes or JSON, by key."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import BinaryType, StructField

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.keyed_rows import (
    NAME,
    VALUE,
    KeyedRows,
    as_written,
    keys_given,
)
from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.postgres.connection import DatabaseError, database_reason, shown
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink

Kind = Literal["json", "hash"]
_SCHEMES = ("redis", "rediss", "unix")
_CHUNK_ROWS = 1_000
_TIMEOUT_S = 10


@dataclass(frozen=True)
class RedisSink(Sink):
    """A Redis. See `to_redis`."""

    url: str = field(repr=False)
    rows: KeyedRows
    prefix: str = ""
    kind: Kind = "json"
    expire_s: int | None = None

    def describe(self) -> str:
        return f"keys {self.prefix}* in {shown(self.url)}"

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        self.prepared(rows)  # wrong columns are found before anything starts
        return rows.writeStream.foreachBatch(self.write)

    def prepared(self, rows: DataFrame) -> DataFrame:
        """A name and a value for each row, as Redis has them."""
        return self.rows.named(rows, self._value(self.rows.fields(rows)), self.prefix, ":")

    def _value(self, fields: Sequence[StructField]) -> Column:
        if self.kind == "json":
            whole = F.struct(*(F.col(f"`{each.name}`") for each in fields))
            return F.to_json(whole, {"ignoreNullFields": "false"})
        return F.struct(*(_text(each).alias(each.name) for each in fields))

    def write(self, rows: DataFrame, _number: int) -> None:
        """Write a batch; repeating it changes nothing."""
        table = self.prepared(rows).toArrow()
        self.rows.check_named(table[NAME].to_pylist())
        found = iter(table.to_pylist())
        with self._connected() as client:
            while chunk := list(islice(found, _CHUNK_ROWS)):
                self._write_chunk(client, chunk)

    def _write_chunk(self, client: Any, rows: Sequence[dict[str, Any]]) -> None:
        pipeline = client.pipeline(transaction=True)
        for row in rows:
            name = row[NAME]
            if row.get(DELETED):
                pipeline.delete(name)
            elif self.kind == "json":
                pipeline.set(name, row[VALUE], ex=self.expire_s)
            else:
                pipeline.delete(name)  # fields that the row does not have are gone
                pipeline.hset(name, mapping={k: v for k, v in row[VALUE].items() if v is not None})
                if self.expire_s is not None:
                    pipeline.expire(name, self.expire_s)
        pipeline.execute()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        redis = import_module("redis")
        client = redis.Redis.from_url(
            self.url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
        )
        try:
            yield client
        except redis.RedisError as error:
            raise DatabaseError(f"{shown(self.url)}: {database_reason(error)}") from error
        finally:
            client.close()


def to_redis(
    url: str,
    *,
    key: str | Sequence[str],
    prefix: str = "",
    kind: Kind = "json",
    latest_by: str | None = None,
    delete_when: str | None = None,
    expire_s: int | None = None,
) -> RedisSink:
    """Write rows to Redis, each under a separate key.

    - `url`: such as `redis://user:password@host:6379/0`; `rediss://` uses TLS, `unix://` a socket.
    - `key`: the columns that make the key, after `prefix` and with colons between them;
      of several, a colon in a value is `\\:`, and a backslash two.
    - `kind`: `json`, a string with the row as an object, or `hash`, with a field for each column
      that is not NULL.
    - `latest_by`, `delete_when`: as with `to_postgres`.
    - `expire_s`: after how many seconds a key expires.
    """
    if importlib.util.find_spec("redis") is None:
        raise InvalidArgument("Redis needs redis: pip install 'barnabas[redis]'")
    if urlsplit(url).scheme not in _SCHEMES:
        raise InvalidArgument(
            f"url {shown(url)!r}: write redis://host:6379/0, rediss:// or unix://"
        )
    if kind not in get_args(Kind):
        raise InvalidArgument(f"unknown kind {kind!r}; use {' or '.join(get_args(Kind))}")
    if expire_s is not None and expire_s < 1:
        raise InvalidArgument(f"expire_s is 1 or more, not {expire_s}")
    keys = keys_given(key)
    if not keys:
        raise InvalidArgument("key has to name a column, or several")
    return RedisSink(url, KeyedRows(keys, latest_by, delete_when), prefix, kind, expire_s)


def _text(field: StructField) -> Column:
    column = as_written(field)
    return column if isinstance(field.dataType, BinaryType) else column.cast("string")
