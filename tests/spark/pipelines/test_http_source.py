"""Webhooks: answered once a topic has them, refused with a reason, and never lost."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import (
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_http,
    load,
    pipeline,
    to_memory,
)
from barnabas.spark.pipelines.http import hook_listener
from barnabas.spark.pipelines.http.hook_listener import (
    HookListener,
    HookSettings,
    close_listeners,
    listening,
    stop_listening,
)
from barnabas.spark.testing import running
from tests.conftest import MakeBroker
from tests.support.wait import LIMIT_S, wait_until

SETTINGS = HookSettings(0, path="/hooks", token="s3cret", key_header="X-Id", max_body_bytes=50)
ALLOWED = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def listener(bootstrap: str, topic: str) -> Iterator[HookListener]:
    listener = HookListener(SETTINGS, topic, ClusterAddress(bootstrap))
    yield listener
    listener.close()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    close_listeners()


def post(
    port: int, body: bytes = b"{}", path: str = "/hooks", headers: dict[str, str] = ALLOWED
) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_request_is_answered_once_it_is_a_record(
    listener: HookListener, bootstrap: str, topic: str
) -> None:
    headers = {**ALLOWED, "X-Id": "k1", "Content-Type": "application/json"}
    status, answer = post(listener.port, b'{"a": 1}', "/hooks?x=y", headers)
    assert status == 200
    with barnabas.Consumer(bootstrap, topic) as consumer:
        (message,) = consumer.poll(timeout_s=LIMIT_S)
    assert (message.key, message.value) == (b"k1", b'{"a": 1}')
    assert dict(message.headers) == {"content-type": b"application/json"}
    assert answer == {"topic": topic, "partition": message.partition, "offset": message.offset}


def test_idle_connections_take_no_more_than_their_share(
    bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_listener, "_MOST_CONNECTIONS", 2)
    listener = HookListener(SETTINGS, topic, ClusterAddress(bootstrap))
    try:
        address = ("127.0.0.1", listener.port)
        idle = [socket.create_connection(address, timeout=LIMIT_S) for _ in range(2)]
        with socket.create_connection(address, timeout=LIMIT_S) as refused:
            assert refused.recv(1) == b""
        for each in idle:
            each.close()

        def is_answered() -> bool:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return post(listener.port)[0] == 200
            return False

        wait_until(is_answered)
    finally:
        listener.close()


def test_web_pages_send_nothing_without_a_token(bootstrap: str, topic: str) -> None:
    listener = HookListener(HookSettings(0, path="/hooks"), topic, ClusterAddress(bootstrap))
    try:
        rebound = f"evil.example:{listener.port}"  # a name that has this address now
        for page in (
            {"Origin": "https://evil.example", "Content-Type": "text/plain"},
            {"Origin": "null"},
            {"Host": rebound, "Origin": f"http://{rebound}"},
            {"Host": rebound, "Sec-Fetch-Site": "same-origin"},
        ):
            assert post(listener.port, headers=page) == (
                403,
                {"error": "web pages may send hooks with a token only"},
            )
        assert post(listener.port, headers={})[0] == 200
    finally:
        listener.close()


def test_what_is_wrong_is_refused(listener: HookListener) -> None:
    port = listener.port
    assert post(port, path="/hook") == (404, {"error": "hooks are at /hooks"})
    assert post(port, headers={})[0] == 401
    assert post(port, headers={"Authorization": "Bearer wrong"})[0] == 401
    assert post(port, b"x" * 51) == (413, {"error": "at most 50 bytes"})
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(b"POST /hooks HTTP/1.1\r\nAuthorization: Bearer s3cret\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 411")
    with socket.create_connection(("127.0.0.1", port)) as raw:  # half a request, and away
        raw.sendall(
            b"POST /hooks HTTP/1.1\r\nAuthorization: Bearer s3cret\r\nContent-Length: 9\r\n\r\nhalf"
        )
    assert post(port)[0] == 200, "it goes on"
    assert post(port, headers={**ALLOWED, "Origin": "https://shop.example"})[0] == 200


def test_a_request_that_can_t_be_stored_is_not_acknowledged(
    make_broker: MakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from barnabas.spark.pipelines.http import hook_listener

    monkeypatch.setattr(hook_listener, "_ACKNOWLEDGED_WITHIN_MS", 1500)
    broker = make_broker()
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topic("hooks")
    listener = HookListener(HookSettings(0), "hooks", ClusterAddress(broker.bootstrap))
    try:
        assert post(listener.port, path="/")[0] == 200
        broker.kill()
        assert post(listener.port, path="/")[0] == 503
    finally:
        listener.close()


def test_pipelines_share_a_port_only_for_the_same(bootstrap: str, topic: str) -> None:
    listener = listening(HookSettings(0), topic, ClusterAddress(bootstrap), "one")
    assert listening(HookSettings(0), topic, ClusterAddress(bootstrap), "two") is listener
    with pytest.raises(InvalidArgument, match=f"already takes webhooks for topic {topic}"):
        listening(HookSettings(0), "other", ClusterAddress(bootstrap), "one")
    with pytest.raises(InvalidArgument, match="already takes webhooks"):
        listening(HookSettings(0, token="t"), topic, ClusterAddress(bootstrap), "three")
    with pytest.raises(InvalidArgument, match=r"can't listen on .*: Address already in use"):
        HookListener(HookSettings(listener.port), topic, ClusterAddress(bootstrap))
    stop_listening(HookSettings(0), "three")
    stop_listening(HookSettings(0), "one")
    assert post(listener.port, path="/")[0] == 200, "the other one uses it"
    stop_listening(HookSettings(0), "two")
    with pytest.raises(ConnectionRefusedError):
        post(listener.port, path="/")


def test_a_pipeline_changes_its_listener_and_closes_it(bootstrap: str, topic: str) -> None:
    first = listening(HookSettings(0), topic, ClusterAddress(bootstrap), "one")
    port = first.port
    assert post(port, path="/", headers={})[0] == 200
    changed = HookSettings(0, path="/hooks", token="s3cret")
    assert listening(changed, topic, ClusterAddress(bootstrap), "one").port == port
    assert post(port, path="/", headers={})[0] == 404
    assert post(port, headers={})[0] == 401
    assert post(port)[0] == 200
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    for status in (200, 503):
        kept.request("POST", "/hooks", b"{}", ALLOWED)
        answer = kept.getresponse()
        answer.read()
        assert answer.status == status
        stop_listening(changed, "one")
    kept.close()
    again = listening(HookSettings(port), topic, ClusterAddress(bootstrap), "two")
    assert again.port == port, "the port is free for another one"
    assert post(port, path="/")[0] == 200


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    for line, complaint in (
        ("http hooks port=99999", "port is 0 to 65535, not 99999"),
        ("http hooks path=hooks", "path begins with a slash"),
        ("http a,b", "topic: name one, not 'a,b'"),
        ("http hooks max_body_bytes=0", "max_body_bytes is 1 or more"),
        ("http hooks tokn=x", "unexpected keyword|no argument 'tokn'|unknown argument"),
    ):
        (tmp_path / "p.sql").write_text(f"-- source a: {line}\n-- sink: memory\nSELECT 1")
        with pytest.raises(InvalidArgument, match=complaint):
            load(tmp_path / "p.sql")


def test_a_pipeline_gets_what_was_sent(
    spark: SparkSession, tmp_path: Path, bootstrap: str, topic: str
) -> None:
    found: list[int] = []

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        found.extend(row["id"] for row in rows.collect())

    source = from_http(topic, "id INT", port=0, token="t")

    @pipeline(sources={"hooks": source}, sink=kept)
    def hooked(hooks: DataFrame) -> DataFrame:
        return hooks

    port = listening(source.hooks, topic, ClusterAddress(bootstrap)).port
    assert post(port, b'{"id": 7}', "/", {"Authorization": "Bearer t"})[0] == 200
    runs = RunFolder(tmp_path / "runs")
    with PipelineRun(spark, [hooked], bootstrap, runs, once=True, max_restarts=1) as each:
        each.wait()
    assert found == [7]
    assert listening(source.hooks, topic, ClusterAddress(bootstrap)).pipelines == {""}, (
        "the run has left it"
    )

    @pipeline(sources={"hooks": source}, sink=to_memory())
    def tested(hooks: DataFrame) -> DataFrame:
        return hooks.select("id")

    with running(tested, spark=spark) as run:
        run.feed("hooks", {"id": 1})
        assert run.rows() == [{"id": 1}]
