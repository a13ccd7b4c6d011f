"""Rows sent to an HTTP server that fails, refuses, hangs up and comes back."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    from_generator,
    load,
    pipeline,
    to_http,
)
from barnabas.spark.pipelines.http import http_calls
from barnabas.spark.pipelines.http.http_calls import (
    HttpCalls,
    HttpRefusedError,
    HttpUnavailableError,
)
from barnabas.spark.pipelines.http.row_requests import RowRequests
from tests.support.http_server import Answer, HttpServer, Received
from tests.support.wait import LIMIT_S


@pytest.fixture
def server() -> Iterator[HttpServer]:
    server = HttpServer()
    yield server
    server.close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpCalls]:
    """Calls whose pauses pass at once."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    # Not of the module itself: threads of Spark use it too.
    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr(http_calls, "time", clock)
    calls = HttpCalls(timeout_s=5, retry_for_s=3600)
    yield calls
    calls.close()


@pytest.mark.parametrize("failure", [(500, b"down"), (503, b""), (429, b"slow"), (408, b""), None])
def test_what_may_pass_is_tried_again(
    server: HttpServer, calls: HttpCalls, failure: Answer
) -> None:
    server.answer = lambda _: failure if len(server.received) < 4 else (201, b"done")
    assert calls.call("POST", f"{server.url}/x?a=b", b"hello", {"A": "b"}) == b"done"
    assert len(server.received) == 4
    assert {(each.path, each.body, each.headers["a"]) for each in server.received} == {
        ("/x?a=b", b"hello", "b")
    }


def test_an_hour_of_failures_ends_with_what_the_server_said(
    server: HttpServer, calls: HttpCalls
) -> None:
    server.answer = lambda _: (500, b"out of\n disk")
    complaint = r"POST .*/x: it answers 500 .*: out of disk \(\d\d\d attempts in 3600 s\)"
    with pytest.raises(HttpUnavailableError, match=complaint):
        calls.call("POST", f"{server.url}/x?token=secret", b"", {})
    assert len(server.received) < 200, "with growing pauses"


def test_a_server_says_when_to_come_back(server: HttpServer, calls: HttpCalls) -> None:
    server.answer = lambda _: (429, b"", {"Retry-After": "40"})
    with pytest.raises(HttpUnavailableError):
        calls.call("POST", server.url, b"", {})
    assert len(server.received) <= 3600 // 40 + 1


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413, 422])
def test_what_is_refused_is_not_tried_again(
    server: HttpServer, calls: HttpCalls, status: int
) -> None:
    server.answer = lambda _: (status, b"no")
    with pytest.raises(HttpRefusedError, match=f"answers {status}.*: no") as refused:
        calls.call("POST", server.url, b"", {})
    assert refused.value.status == status
    assert len(server.received) == 1


def test_a_server_that_is_not_there_is_said(calls: HttpCalls) -> None:
    server = HttpServer()
    server.close()
    with pytest.raises(HttpUnavailableError, match="ConnectionRefusedError"):
        calls.call("POST", server.url, b"", {})


def test_no_more_of_an_answer_is_read_than_is_needed(server: HttpServer) -> None:
    calls = HttpCalls(retry_for_s=0, longest_answer=10)
    server.answer = lambda _: (200, b"x" * 3_000_000)
    assert calls.call("POST", server.url, b"", {}) == b"x" * 10
    server.answer = lambda _: (400, b"y" * 3_000_000)
    with pytest.raises(HttpRefusedError, match=r"answers 400.*: y{300}$"):
        calls.call("POST", server.url, b"", {})
    server.answer = lambda _: (200, b"next")
    assert calls.call("POST", server.url, b"", {}) == b"next"
    calls.close()


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_server_that_answers_byte_by_byte_is_given_up(head: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def dribble() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(head)
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.1)

        thread = threading.Thread(target=dribble, daemon=True)
        thread.start()
        calls = HttpCalls(timeout_s=1, retry_for_s=0)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(HttpUnavailableError, match="TimeoutError: no complete answer in 1 s"):
            calls.call("POST", url, b"", {})
        calls.close()
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def rows(*bodies: str) -> list[dict[str, Any]]:
    return [{"barnabas_body": each.encode(), "barnabas_key": each, "id": each} for each in bodies]


def test_keys_are_the_same_when_a_batch_comes_again_in_another_order() -> None:
    one = RowRequests("http://x/{id}")
    first = {each.key: each for each in one.requests(rows("a b", "c", "c"), "query", 7)}
    again = {each.key: each for each in one.requests(rows("c", "a b", "c"), "query", 7)}
    assert first == again
    assert len(first) == 3, "equal rows are different requests"
    assert {each.url for each in first.values()} == {"http://x/a%20b", "http://x/c"}
    other = {each.key for each in one.requests(rows("a b", "c", "c"), "query", 8)}
    assert not other & first.keys()
    several = RowRequests("http://x", 2)
    bodies = [each.body for each in several.requests(rows("1", "2", "3"), "query", 1)]
    assert bodies == [b"[1,2]", b"[3]"]
    assert [*several.requests(rows("3", "2", "1"), "query", 1)] == [
        *several.requests(rows("1", "2", "3"), "query", 1)
    ]
    keyed = RowRequests("http://x", idempotency_key="id")
    assert [each.key for each in keyed.requests(rows("k"), "q", 1)] == ["k"]


def test_requests_of_several_rows_have_one_url_and_keys_of_all_rows() -> None:
    made = RowRequests("http://x/{id}", 2, idempotency_key="n")

    def requests(*given: tuple[str | None, str | None]) -> set[tuple[str, bytes, str, str | None]]:
        found = [
            {"barnabas_body": b"%d" % n, "barnabas_key": key, "id": place}
            for n, (place, key) in enumerate(given)
        ]
        both = [{*made.requests(each, "q", 1)} for each in (found, found[::-1])]
        assert both[0] == both[1], "in either order"
        return {(each.url, each.body, each.key, each.problem) for each in both[0]}

    found = requests(("a", "1"), ("b", "2"), ("a", "3"), ("a", "4"))
    assert {each[:2] for each in found} == {
        ("http://x/a", b"[0,2]"),
        ("http://x/a", b"[3]"),
        ("http://x/b", b"[1]"),
    }
    assert len({each[2] for each in found}) == 3
    (refused,) = [each for each in requests(("None", "1"), (None, "2")) if each[3]]
    assert refused[1] == b"[1]", "not together with a row that names the same URL"


@pytest.mark.parametrize("key", [None, ""])
@pytest.mark.parametrize("size", [1, 2])
def test_rows_without_a_key_do_not_share_one(key: str | None, size: int) -> None:
    """A server that honours keys would take all but the first for repetitions."""
    given = [{**each, "barnabas_key": key} for each in rows("a", "b", "c")]
    found = [*RowRequests("http://x", size, idempotency_key="k").requests(given, "q", 1)]
    assert {each.problem for each in found} == {f"idempotency_key k is {key!r}, as of other rows"}
    assert len({each.key for each in found}) == len(found)


@pytest.mark.parametrize("value", [None, "", ".", ".."])
def test_a_row_without_a_place_is_not_sent_to_another(value: str | None) -> None:
    row = {**rows("a")[0], "id": value}
    (found,) = RowRequests("http://x/items/{id}").requests([row], "query", 1)
    assert found.problem == f"column id is {value!r}, which can't be a part of the url"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"url": "ftp://x"}, "url 'ftp://x': write http://… or https://…"),
        ({"url": "http://u:p@x"}, "url has a user or password: give them as a header"),
        ({"method": "GET"}, "unknown method 'GET'; use POST, PUT, PATCH, DELETE"),
        ({"batch_size": 0}, "batch_size is 1 or more, not 0"),
        ({"batch_size": 2, "body": "b"}, "body needs requests of one row"),
        ({"headers": ["no colon"]}, "headers: write 'no' as Name: value"),
        ({"timeout_s": 0}, "timeout_s is a number of seconds, not 0"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        to_http(**{"url": "http://x", **arguments})


def test_in_sql(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text(
        "-- sink: http http://x/hook batch_size=10"
        ' headers="Authorization: Bearer t, X-A: b"\nSELECT 1'
    )
    sink = load(tmp_path / "p.sql")["p"].sink
    assert sink == to_http(
        "http://x/hook", batch_size=10, headers={"Authorization": "Bearer t", "X-A": "b"}
    )
    assert "Bearer" not in repr(sink)


def run(spark: SparkSession, defined: Pipeline, servers: str, folder: Path) -> None:
    runs = RunFolder(folder / "runs")
    with PipelineRun(spark, [defined], servers, runs, once=True, max_restarts=2) as each:
        each.wait()


def test_a_batch_that_fails_halfway_is_sent_again_with_the_same_keys(
    spark: SparkSession, tmp_path: Path, server: HttpServer
) -> None:
    source = from_generator("id BIGINT sequence", count=6, max_rows_per_batch=3)

    @pipeline(sources={"rows": source}, sink=to_http(f"{server.url}/items/{{id}}", retry_for_s=0))
    def sent(rows: DataFrame) -> DataFrame:
        return rows

    def fails_once(request: Received) -> Answer:
        if request.path == "/items/4" and len(server.received) == 5:
            return 500, b""
        return 200, b""

    server.answer = fails_once
    run(spark, sent, "nowhere:9", tmp_path)
    keys: dict[str, set[str]] = {}
    for each in server.received:
        keys.setdefault(each.path, set()).add(each.headers["idempotency-key"])
    assert sorted(keys) == [f"/items/{n}" for n in range(6)]
    assert len(server.received) == 8, "3 and 4 came twice"
    assert [len(each) for each in keys.values()] == [1] * 6
    assert len(set.union(*keys.values())) == 6


def test_what_is_refused_goes_to_dead_letters_or_stops_the_pipeline(
    spark: SparkSession, tmp_path: Path, server: HttpServer, bootstrap: str, topic: str
) -> None:
    server.answer = lambda request: (
        (422, b"odd") if json.loads(request.body)["id"] % 2 else (200, b"")
    )

    def defined(letters: str | None) -> Pipeline:
        @pipeline(
            sources={"rows": from_generator("id BIGINT sequence", count=3)},
            sink=to_http(server.url, dead_letters=letters),
        )
        def sent(rows: DataFrame) -> DataFrame:
            return rows

        return sent

    run(spark, defined(topic), bootstrap, tmp_path)
    with barnabas.Consumer(bootstrap, topic) as consumer:
        (letter,) = consumer.poll(timeout_s=LIMIT_S)
    assert letter.value == b'{"id":1}'
    headers = dict(letter.headers)
    assert b"it answers 422" in (headers["__connect.errors.exception.message"] or b"")
    assert headers["__connect.errors.connector.name"] == b"sent"
    with pytest.raises(PipelineError, match=r"it answers 422 .*: odd"):
        run(spark, defined(None), bootstrap, tmp_path / "other")
