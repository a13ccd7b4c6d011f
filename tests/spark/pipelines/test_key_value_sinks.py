"""Rows as keys of a Redis, and as documents of a search server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    from_generator,
    load,
    pipeline,
    to_opensearch,
    to_redis,
)
from barnabas.spark.pipelines.databases.keyed_rows import DELETED, NAME, VALUE
from barnabas.spark.pipelines.http.http_calls import HttpRefusedError, HttpUnavailableError
from barnabas.spark.pipelines.postgres.connection import DatabaseError
from barnabas.spark.pipelines.sinks.sink import Sink
from tests.support.http_server import Answer, HttpServer, Received
from tests.support.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


class SearchServer(HttpServer):
    """As much of the bulk API as the sink uses, with documents in a dict."""

    def __init__(self) -> None:
        super().__init__(self._bulk)
        self.documents: dict[str, dict[str, Any]] = {}
        self.status: Callable[[str], int] = lambda _: 200

    def _bulk(self, request: Received) -> Answer:
        assert (request.method, request.path) == ("POST", "/_bulk")
        assert request.headers["content-type"] == "application/x-ndjson"
        assert request.body.endswith(b"\n")
        lines = iter(request.body.decode().splitlines())
        items = []
        for line in lines:
            ((action, place),) = json.loads(line).items()
            assert place["_index"] == "made"
            document = json.loads(next(lines)) if action == "index" else None
            status = self.status(place["_id"])
            result: dict[str, Any] = {"_id": place["_id"], "status": status}
            if status >= 400:
                result["error"] = {"type": "mapper_parsing_exception", "reason": "not a number"}
            elif document is not None:
                self.documents[place["_id"]] = document
            elif self.documents.pop(place["_id"], None) is None:
                result["status"] = 404
            items.append({action: result})
        return 200, json.dumps({"errors": False, "items": items}).encode()


@pytest.fixture
def search() -> Iterator[SearchServer]:
    server = SearchServer()
    yield server
    server.close()


def run(spark: SparkSession, sink: Sink, folder: Path) -> None:
    """Sixty rows for twenty keys, of which the last ones count, and some delete."""

    @pipeline(
        sources={"rows": from_generator("n BIGINT sequence", count=60, max_rows_per_batch=30)},
        sink=sink,
    )
    def made(rows: DataFrame) -> DataFrame:
        return rows.selectExpr(
            "n % 20 AS id", "n", "array(n) AS list", "if(n < 50, n, NULL) AS low"
        )

    execute(spark, made, folder)


def execute(spark: SparkSession, defined: Pipeline, folder: Path) -> None:
    runs = RunFolder(folder / "runs")
    with PipelineRun(spark, [defined], "nowhere:9", runs, once=True, max_restarts=1) as each:
        each.wait()


WANTED = {n % 20: n for n in range(40, 60) if n % 7}


@pytest.mark.parametrize("kind", ["json", "hash"])
def test_rows_are_keys_of_a_redis(
    spark: SparkSession, tmp_path: Path, redis_server: RedisServer, kind: Any
) -> None:
    with redis_server.client() as client:
        client.flushall()
        sink = to_redis(
            redis_server.url,
            key=["id", "id"],
            prefix="made:",
            kind=kind,
            latest_by="n",
            delete_when="n % 7 = 0",
            expire_s=1000,
        )
        run(spark, sink, tmp_path)
        assert {int(key.split(b":")[1]) for key in client.keys("*")} == set(WANTED)
        assert 0 < client.ttl("made:1:1") <= 1000
        if kind == "json":
            found = json.loads(client.get("made:1:1"))
            assert found == {"id": 1, "n": 41, "list": [41], "low": 41}
            assert json.loads(client.get("made:13:13"))["low"] is None
        else:
            found = client.hgetall("made:1:1")
            assert found == {b"id": b"1", b"n": b"41", b"list": b"[41]", b"low": b"41"}
            assert b"low" not in client.hgetall("made:13:13"), "a field of a former row is gone"


def test_rows_are_documents(spark: SparkSession, tmp_path: Path, search: SearchServer) -> None:
    rejected = {"3", "4"}

    def status(identity: str) -> int:
        if identity in rejected:
            rejected.discard(identity)
            return 429
        return 200

    search.status = status
    sink = to_opensearch(
        search.url, "made", key="id", latest_by="n", delete_when="n % 7 = 0", batch_size=7
    )
    run(spark, sink, tmp_path)
    assert {int(key): each["n"] for key, each in search.documents.items()} == WANTED
    assert search.documents["1"] == {"id": 1, "n": 41, "list": [41], "low": 41}


def row(name: str | None, deleted: bool = False) -> dict[str, Any]:
    return {NAME: name, VALUE: "{}", DELETED: deleted}


def test_documents_that_are_not_taken(search: SearchServer) -> None:
    sink = to_opensearch(search.url, "made", key="id", retry_for_s=0)
    sink.send([row("gone", deleted=True)])
    search.status = lambda identity: 400 if identity == "bad" else 200
    with pytest.raises(HttpRefusedError, match="bad: mapper_parsing_exception: not a number"):
        sink.send([row("bad"), row("good")])
    assert "good" in search.documents
    search.status = lambda _: 503
    with pytest.raises(HttpUnavailableError, match="2 documents were rejected"):
        sink.send([row("a"), row("b")])
    with pytest.raises(DatabaseError, match=r"id is NULL: .* WHERE id IS NOT NULL"):
        sink.send([row(None)])
    with pytest.raises(DatabaseError, match=r"several rows with the same \(id\)"):
        sink.send([row("a"), row("a")])


def test_a_redis_that_refuses_or_is_not_there_is_said() -> None:
    server = RedisServer("--requirepass", "right")
    sink = to_redis(f"{server.url}?password=wrong", key="id")
    with (
        pytest.raises(DatabaseError, match=r"(?i)password") as refused,
        sink._connected() as client,
    ):
        sink._write_chunk(client, [row("a")])
    assert "wrong" not in str(refused.value)
    server.close()
    with pytest.raises(DatabaseError, match="No such file"), sink._connected() as client:
        sink._write_chunk(client, [row("a")])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: to_redis("http://x", key="id"), "url 'http://x': write redis://host:6379/0"),
        (lambda: to_redis("redis://x", key=[]), "key has to name a column"),
        (lambda: to_redis("redis://x", key="id", kind="list"), "unknown kind 'list'; use json or"),
        (lambda: to_redis("redis://x", key="id", expire_s=0), "expire_s is 1 or more, not 0"),
        (lambda: to_opensearch("x", "i", key="id"), "url 'x': write http"),
        (lambda: to_opensearch("http://x", "Made", key="id"), "index 'Made': a name is in lower"),
        (lambda: to_opensearch("http://x", "i", key=()), "key has to name a column"),
        (lambda: to_opensearch("http://x", "i", key="id", batch_size=0), "batch_size is 1 or more"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        make()


def test_in_sql(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text(
        "-- sink: redis redis://h/0 key=a,b prefix=x: kind=hash\nSELECT 1"
    )
    assert load(tmp_path / "p.sql")["p"].sink == to_redis(
        "redis://h/0", key=["a", "b"], prefix="x:", kind="hash"
    )
    (tmp_path / "p.sql").write_text("-- sink: opensearch http://h i key=a batch_size=5\nSELECT 1")
    assert load(tmp_path / "p.sql")["p"].sink == to_opensearch(
        "http://h", "i", key="a", batch_size=5
    )
