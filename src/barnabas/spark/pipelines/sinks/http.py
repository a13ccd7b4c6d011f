"""Rows sent to an HTTP server, in requests that are tried again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import NO_CLUSTER, ClusterAddress
from barnabas.spark.connector.batch_writer import query_of_batch
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.http.http_calls import (
    HttpCalls,
    HttpRefusedError,
    check_url,
    headers_given,
    shown_url,
)
from barnabas.spark.pipelines.http.refused_rows import Refused, send_refused
from barnabas.spark.pipelines.http.row_requests import RowRequests
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink

_BAD_REQUEST = 400
METHODS = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class HttpSink(Sink):
    """An HTTP server. See `to_http`."""

    requests: RowRequests
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    idempotency_header: str = "Idempotency-Key"
    timeout_s: int = 30
    retry_for_s: int = 60
    dead_letters: str | None = None

    def describe(self) -> str:
        return f"{self.method} {shown_url(self.requests.url)}"

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append", "update")

    @property
    def topics(self) -> tuple[str, ...]:
        return () if self.dead_letters is None else (self.dead_letters,)

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del output_mode
        self.requests.prepared(rows)  # wrong columns are found before anything starts
        name = environment.writer.pipeline if environment.writer is not None else ""
        return rows.writeStream.foreachBatch(
            partial(self.write, cluster=environment.cluster, pipeline=name)
        )

    def write(
        self,
        rows: DataFrame,
        number: int,
        cluster: ClusterAddress = NO_CLUSTER,
        pipeline: str = "",
    ) -> None:
        """Send the requests of a batch, one after the other."""
        found = self.requests.prepared(rows).toArrow().to_pylist()
        calls = HttpCalls(self.timeout_s, self.retry_for_s, longest_answer=64 << 10)
        refused: list[Refused] = []
        try:
            for each in self.requests.requests(found, query_of_batch(rows), number):
                headers = {"Content-Type": "application/json", **self.headers}
                if self.idempotency_header:
                    headers[self.idempotency_header] = each.key
                try:
                    if each.problem is not None:
                        raise HttpRefusedError(f"{self.describe()}: {each.problem}", _BAD_REQUEST)
                    calls.call(self.method, each.url, each.body, headers)
                except HttpRefusedError as error:
                    if self.dead_letters is None:
                        raise
                    refused.append(Refused(each.body, str(error), each.key.encode()))
        finally:
            calls.close()
        if self.dead_letters is not None:
            send_refused(cluster, self.dead_letters, refused, pipeline, HttpRefusedError.__name__)


def to_http(
    url: str,
    *,
    method: str = "POST",
    batch_size: int = 1,
    body: str | None = None,
    headers: Sequence[str] | Mapping[str, str] = (),
    idempotency_key: str | None = None,
    idempotency_header: str = "Idempotency-Key",
    order_by: str | None = None,
    timeout_s: int = 30,
    retry_for_s: int = 60,
    dead_letters: str | None = None,
) -> HttpSink:
    """Send rows to an HTTP server, as JSON objects, or JSON arrays of `batch_size` objects.

    - `url`: may contain columns, as in `https://shop/items/{id}`. A row where one is NULL, empty,
      `.` or `..` is refused. A request has rows of one URL.
    - `method`, `batch_size`: POST, PUT, PATCH or DELETE; rows per request. With more than one, rows
      are sorted by their content, unless `order_by` is given.
    - `body`: a column that is sent unchanged, instead of the row as JSON.
    - `headers`: a mapping, or strings such as `Authorization: Bearer …`.
    - `idempotency_key`: a column or SQL expression that identifies a row; a row where it is NULL or
      empty is refused. By default the key is made from the query, the batch and the content, and
      is the same when a batch is repeated.
    - `idempotency_header`: the header for that key; empty for none.
    - `order_by`: a column or SQL expression to sort the rows of a batch by.
    - `timeout_s`, `retry_for_s`: how long to wait for a response; how long to retry after 408, 425,
      429, 5xx and connection failures before the batch fails.
    - `dead_letters`: the topic for rows that the server refuses (4xx); by default that is an error.
    """
    check_url(url)
    if method not in METHODS:
        raise InvalidArgument(f"unknown method {method!r}; use {', '.join(METHODS)}")
    for name, value in (("timeout_s", timeout_s), ("retry_for_s", retry_for_s)):
        if value < 0 or (name == "timeout_s" and not value):
            raise InvalidArgument(f"{name} is a number of seconds, not {value}")
    requests = RowRequests(url, batch_size, body, idempotency_key, order_by)
    given = headers_given(headers if isinstance(headers, Mapping) else list(headers))
    return HttpSink(
        requests, method, given, idempotency_header, timeout_s, retry_for_s, dead_letters
    )
