"""Rows as documents of an OpenSearch or Elasticsearch, by the bulk API."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.backoff import Backoff
from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import NO_CLUSTER, ClusterAddress
from barnabas.spark.pipelines.databases.keyed_rows import (
    NAME,
    VALUE,
    KeyedRows,
    keys_given,
)
from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.http.http_calls import (
    HttpCalls,
    HttpRefusedError,
    HttpUnavailableError,
    check_url,
    headers_given,
    shown_url,
)
from barnabas.spark.pipelines.http.refused_rows import Refused, send_refused
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink

_MOST_BYTES = 5_000_000
_PAUSES = Backoff(0.2, 30.0)
_NOT_FOUND, _TOO_MANY, _FAILED, _REFUSED = 404, 429, 500, 400

Row = Mapping[str, Any]


@dataclass(frozen=True)
class OpenSearchSink(Sink):
    """An index of documents. See `to_opensearch`."""

    url: str
    index: str
    rows: KeyedRows
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    batch_size: int = 1_000
    retry_for_s: int = 60
    dead_letters: str | None = None

    def describe(self) -> str:
        return f"index {self.index} of {shown_url(self.url)}"

    @property
    def topics(self) -> tuple[str, ...]:
        return () if self.dead_letters is None else (self.dead_letters,)

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del output_mode
        self.prepared(rows)  # wrong columns are found before anything starts
        name = environment.writer.pipeline if environment.writer is not None else ""
        return rows.writeStream.foreachBatch(
            partial(self.write, cluster=environment.cluster, pipeline=name)
        )

    def prepared(self, rows: DataFrame) -> DataFrame:
        """An id and a document for each row."""
        whole = F.struct(*(F.col(f"`{each.name}`") for each in self.rows.fields(rows)))
        return self.rows.named(rows, F.to_json(whole, {"ignoreNullFields": "false"}), "", "|")

    def write(
        self,
        rows: DataFrame,
        _number: int,
        cluster: ClusterAddress = NO_CLUSTER,
        pipeline: str = "",
    ) -> None:
        """Write a batch; repeating it changes nothing."""
        self.send(self.prepared(rows).toArrow().to_pylist(), cluster, pipeline)

    def send(
        self, rows: Sequence[Row], cluster: ClusterAddress = NO_CLUSTER, pipeline: str = ""
    ) -> None:
        """Send rows of `prepared`, some at a time."""
        self.rows.check_named(each[NAME] for each in rows)
        calls = HttpCalls(retry_for_s=self.retry_for_s)
        refused: list[Refused] = []
        try:
            for chunk in _chunks(rows, self.batch_size):
                refused += self._send_chunk(calls, chunk)
        finally:
            calls.close()
        if not refused:
            return
        if self.dead_letters is None:
            raise HttpRefusedError(f"{self.describe()}: {refused[0].reason}", _REFUSED)
        send_refused(cluster, self.dead_letters, refused, pipeline, HttpRefusedError.__name__)

    def _send_chunk(self, calls: HttpCalls, rows: Sequence[Row]) -> list[Refused]:
        """What was refused; documents that the server has no room for now are sent again."""
        deadline = time.monotonic() + self.retry_for_s
        refused: list[Refused] = []
        attempt = 0
        while rows:
            attempt += 1
            again, reason = [], ""
            for row, (status, said) in zip(rows, self._bulk(calls, rows), strict=True):
                if status == _TOO_MANY or status >= _FAILED:
                    again.append(row)
                    reason = said
                elif status >= _REFUSED and not (status == _NOT_FOUND and row.get(DELETED)):
                    document = row[VALUE].encode()
                    refused.append(Refused(document, f"{row[NAME]}: {said}", row[NAME].encode()))
            rows = again
            if rows:
                pause = _PAUSES.pause(attempt, random.random)
                if time.monotonic() + pause > deadline:
                    raise HttpUnavailableError(
                        f"{self.describe()}: {len(rows)} documents were rejected: {reason}"
                    )
                time.sleep(pause)
        return refused

    def _bulk(self, calls: HttpCalls, rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
        """What became of each row: a status, and what the server says."""
        lines: list[str] = []
        for row in rows:
            place = {"_index": self.index, "_id": row[NAME]}
            if row.get(DELETED):
                lines.append(json.dumps({"delete": place}))
            else:
                lines += [json.dumps({"index": place}), row[VALUE]]
        body = "".join(f"{each}\n" for each in lines).encode()
        headers = {"Content-Type": "application/x-ndjson", **self.headers}
        answer = json.loads(calls.call("POST", f"{self.url.rstrip('/')}/_bulk", body, headers))
        for item in answer["items"]:
            (result,) = item.values()
            error = result.get("error") or {}
            said = f"{error.get('type', result['status'])}: {error.get('reason', '')}"
            yield int(result["status"]), said


def to_opensearch(
    url: str,
    index: str,
    *,
    key: str | Sequence[str],
    latest_by: str | None = None,
    delete_when: str | None = None,
    headers: Sequence[str] | Mapping[str, str] = (),
    batch_size: int = 1_000,
    retry_for_s: int = 60,
    dead_letters: str | None = None,
) -> OpenSearchSink:
    """Write rows as documents to OpenSearch or Elasticsearch.

    - `url`, `index`: the server, such as `http://localhost:9200`, and the index to write to.
    - `key`: the columns whose values, with `|` between them, are the document's id; of several
      columns, `|` in a value is `\\|`, and a backslash two.
    - `latest_by`, `delete_when`: as with `to_postgres`.
    - `headers`: a mapping, or strings such as `Authorization: Basic …`.
    - `batch_size`: documents per request; a request has at most 5 MB, too.
    - `retry_for_s`: how long to retry before the batch fails.
    - `dead_letters`: the topic for refused documents; by default that is an error.
    """
    check_url(url)
    keys = keys_given(key)
    if not keys:
        raise InvalidArgument("key has to name a column, or several")
    if not index or index != index.lower() or index.startswith(("_", "-", "+")):
        raise InvalidArgument(f"index {index!r}: a name is in lower case and begins with a letter")
    if batch_size < 1:
        raise InvalidArgument(f"batch_size is 1 or more, not {batch_size}")
    given = headers_given(headers if isinstance(headers, Mapping) else list(headers))
    rows = KeyedRows(keys, latest_by, delete_when)
    return OpenSearchSink(url, index, rows, given, batch_size, retry_for_s, dead_letters)


def _chunks(rows: Sequence[Row], most: int) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    size = 0
    for row in rows:
        length = len(row[VALUE])
        if chunk and (len(chunk) >= most or size + length > _MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += length
    if chunk:
        yield chunk
