"""Pipelines, connectors and dead letters, by the API, on a real cluster."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.console.answers import ApiError
from barnabas.console.api.connector_changes import settings_after
from barnabas.console.api.dead_letters import Newest, shown
from barnabas.console.api.pipelines import without_masked
from barnabas.console.messages.masking import MASK, Masks, parse_mask
from barnabas.console.watch.events import EventLog
from barnabas.console.watch.pipelines import SERIES, PipelineWatch
from barnabas.dead_letters.letters import letter_of
from barnabas.dead_letters.passed_over import PassedOver
from barnabas.diagnosis.collect.snapshot import take_snapshot
from barnabas.diagnosis.facts import Limits
from barnabas.diagnosis.sample import Sampler
from barnabas.flow.reports import LOST_AFTER_S, checked
from barnabas.flow.requests import TOPIC as REQUESTS
from barnabas.flow.requests import PipelineRequest
from barnabas.flow.requests import decode as decode_request
from barnabas.records.message import Message
from barnabas.security.secret_settings import HIDDEN
from tests.console.connect_service import ConnectService
from tests.console.console_process import ConsoleProcess
from tests.console.reports import report_of, reporting, write_letters, write_reports
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster() as running, barnabas.Admin(running.bootstrap_servers) as admin:
        for topic in ("orders", "revenue", "bad-orders"):
            admin.create_topic(topic)
        yield running


@pytest.fixture(scope="module")
def console(
    cluster: barnabas.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    folder = tmp_path_factory.mktemp("connect")
    status = folder / ".barnabas" / "pipelines" / "local" / "status.json"
    status.parent.mkdir(parents=True)
    status.write_text(json.dumps(report_of("local", folder=str(status.parent.parent))))
    servers = cluster.bootstrap_servers
    with ConnectService(servers, folder) as connect:
        options = ("--connect", connect.url, "--pipelines", str(folder))
        with ConsoleProcess(servers, folder / "console.log", *options) as running:
            yield running


def test_a_pipeline_of_this_machine_that_does_not_report_is_shown(console: ConsoleProcess) -> None:
    found = {each["pipeline"]: each for each in console.get("/api/pipelines")["pipelines"]}
    assert found["local"]["state"] == "died"
    assert "ended unexpectedly" in found["local"]["error"]
    one = console.get(f"/api/pipeline?id={found['local']['id']}")
    assert one["points"] == []


def test_pipelines_are_a_graph_with_rates(
    cluster: barnabas.Cluster, console: ConsoleProcess
) -> None:
    table = report_of(
        "table", reads=[["topic", "revenue"]], writes=[["files", "/srv/t"]], read_per_s={}
    )
    with reporting(cluster.bootstrap_servers, report_of("revenue"), table) as (first, second):
        found = wait_until(lambda: _flow(console, {first, second}))
    names = {(each["kind"], each["label"]) for each in found["nodes"]}
    assert {("topic", "orders"), ("pipeline", "revenue"), ("files", "/srv/t")} <= names
    rates = {(each["from"][1], each["to"][1]): each["rate"] for each in found["edges"]}
    assert rates["orders", first] == 120
    assert rates[first, "revenue"] == 40
    assert rates["revenue", second] == 120  # of all rows: it reads nothing else
    assert not rates[first, "bad-orders"]
    layers = {each["label"]: each["at"][0] for each in found["nodes"]}
    assert layers["orders"] < layers["revenue"] < layers["table"] < layers["/srv/t"]


def _flow(console: ConsoleProcess, wanted: set[str]) -> Any:
    found = console.get("/api/flow")
    running = {each["id"] for each in found["pipelines"] if each["state"] == "running"}
    return found if wanted <= running else None


def test_one_pipeline_has_points_and_its_failure_is_an_event(
    cluster: barnabas.Cluster, console: ConsoleProcess
) -> None:
    servers = cluster.bootstrap_servers
    (key,) = write_reports(servers, report_of("fragile"))
    wait_until(lambda: console.ask(f"/api/pipeline?id={key}")[0] == 200)
    error = "/srv/shop.py:12: ValueError: 7 is too large"
    write_reports(servers, report_of("fragile", state="failed", error=error, failed_at=1.0))
    found = wait_until(
        lambda: (
            one if (one := console.get(f"/api/pipeline?id={key}"))["state"] == "failed" else None
        )
    )
    assert found["error"] == error
    at = found["series"].index("rows_in_per_s")
    assert [each[at] for each in found["points"]] == [120, 0], "nothing, once it has failed"
    events = [each["what"] for each in console.get("/api/overview")["events"]]
    assert "Pipeline fragile has failed" in events
    assert console.ask("/api/pipeline?id=nobody")[0] == 404


def test_a_pipeline_is_asked_to_stop_by_a_record_of_the_user(
    cluster: barnabas.Cluster, console: ConsoleProcess
) -> None:
    servers = cluster.bootstrap_servers
    with barnabas.Admin(servers) as admin:
        admin.create_topic(REQUESTS, partitions=3, exist_ok=True)  # the first one is read
    path = "/api/pipeline/requests"
    reports = (
        report_of("asked", control="on", pid=1),
        report_of("free", pid=2),
        report_of("ended", control="on", pid=3, state="done"),
    )
    with reporting(servers, *reports) as (asked, free, ended):
        wait_until(lambda: console.ask(f"/api/pipeline?id={ended}")[0] == 200)
        answer = console.change("POST", path, {"id": asked, "action": "stop"})
        again = console.change("POST", path, {"id": ended, "action": "restart"})
        refused = [
            console.try_change("POST", path, {"id": key, "action": action})[0]
            for key, action in ((free, "stop"), (ended, "stop"), ("x", "stop"), (asked, "explode"))
        ]
    assert refused == [409, 409, 404, 400]
    partition = barnabas.TopicPartition(REQUESTS, 0)
    with barnabas.Consumer(servers) as consumer:
        consumer.assign({partition: 0})
        found: list[PipelineRequest] = []
        ids = answer["request"], again["request"]

        def all_are_there() -> bool:
            read = [decode_request(each.value) for each in consumer.poll(1.0)]
            found.extend(each for each in read if each is not None and each.id in ids)
            return len(found) == len(ids)

        wait_until(all_are_there)
    assert found == [
        PipelineRequest(answer["request"], asked, 1, "stop"),
        PipelineRequest(again["request"], ended, 3, "restart"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[]",
        b"{",
        b'{"id": "a", "pipeline": "p", "pid": 1, "action": "explode"}',
        b'{"id": "a", "pipeline": "p", "pid": "1", "action": "stop"}',
        b'{"id": 7, "pipeline": "p", "pid": 1, "action": "stop"}',
    ],
)
def test_what_is_no_request_is_none(value: bytes | None) -> None:
    assert decode_request(value) is None


def test_a_pipeline_that_does_not_report_is_lost(cluster: barnabas.Cluster) -> None:
    servers = cluster.bootstrap_servers
    (key,) = write_reports(servers, report_of("silent"))
    with barnabas.Admin(servers) as admin:
        admin.set_group_offsets("silent", {barnabas.TopicPartition("orders", 0): 0})
    events = EventLog()

    async def follow() -> PipelineWatch:
        async with ClusterClient(servers) as client:
            watch = PipelineWatch(client, events)
            sample = await Sampler(client, members=False).take()
            await watch.follow(sample, 0)
            assert watch.followed[key].state == "running"
            facts = watch.as_members(await take_snapshot(client, Limits()))
            assert [each.state for each in facts.groups if each.group_id == "silent"] == ["Stable"]
            heard = watch.followed[key].heard_ms
            await watch.follow(sample, heard + int(LOST_AFTER_S * 1000) + 1)
            return watch

    watch = asyncio.run(follow())
    assert watch.followed[key].state == "lost"
    assert any("silent no longer reports" in each.what for each in events.newest(50))


def test_lag_is_what_its_group_has_not_read_and_not_as_of_the_last_batch(
    cluster: barnabas.Cluster,
) -> None:
    servers = cluster.bootstrap_servers
    letters = "busy.bad-orders.dead-letters"
    with barnabas.Admin(servers) as admin:
        admin.create_topic("busy-orders", partitions=1)
        for group in ("busy", letters):
            admin.set_group_offsets(group, {barnabas.TopicPartition("busy-orders", 0): 0})
    report = report_of("busy", lag=0, lag_s=0.0, reads=[["topic", "busy-orders"]])
    (key,) = write_reports(servers, report)

    async def follow() -> None:
        async with ClusterClient(servers) as client:
            watch, sampler = PipelineWatch(client, EventLog()), Sampler(client, members=False)
            assert await watch.follow(await sampler.take(), 1_000), "a new pipeline"
            assert (watch.followed[key].lag, watch.followed[key].lag_s) == (0, 0.0)
            with barnabas.Producer(servers) as producer:
                for _ in range(7):
                    producer.send("busy-orders", b"{}")
            write_reports(servers, report)
            assert not await watch.follow(await sampler.take(), 3_000), "nothing new"
            write_reports(servers, {**report, "state": "stopped"})
            await watch.follow(await sampler.take(), 9_000)
            busy = watch.followed[key]
            assert (busy.lag, busy.lag_s) == (7, 6.0)
            lags = [each[1 + SERIES.index("lag")] for each in busy.points]
            assert lags == [0, 7, 7]
            rates = [each[1 + SERIES.index("rows_in_per_s")] for each in busy.points]
            assert rates == [120.0, 120.0, 0.0], "a stopped pipeline reads nothing"
            groups = watch.as_members(await take_snapshot(client, Limits())).groups
            assert letters not in {each.group_id for each in groups}, "also when it has stopped"
            assert watch.is_bookkeeping(letters)
            assert not watch.is_bookkeeping("busy")

    asyncio.run(follow())


def test_an_error_of_a_masked_topic_has_only_its_place() -> None:
    error = "/srv/shop.py:12: ValueError: card 4711 is wrong"
    report = checked(report_of("revenue", error=error))
    masks = Masks([parse_mask("orders:$.card")])
    error_shown = without_masked(report, masks)["error"]
    assert error_shown.startswith("/srv/shop.py:12: (")
    assert "4711" not in error_shown
    bare = checked(report_of("revenue", error="card: 4711"))
    assert "4711" not in without_masked(bare, masks)["error"]
    assert without_masked(report, Masks([]))["error"] == error
    answered = checked(report_of("revenue", answer=f"It was not restarted: {error}"))
    assert without_masked(answered, masks)["answer"].startswith("It was not restarted: (")
    assert "4711" not in without_masked(answered, masks)["answer"]
    stopped = checked(report_of("revenue", answer="It was stopped, as asked for."))
    assert without_masked(stopped, masks)["answer"] == "It was stopped, as asked for."


def test_settings_that_are_hidden_stay_as_they_are() -> None:
    known = {"name": "jdbc", "password": "s3cret", "topics": "orders"}
    changes = {"password": HIDDEN, "topics": None, "trigger": "5 seconds"}
    changed = settings_after(known, changes, keep=True)
    assert changed == {"name": "jdbc", "password": "s3cret", "trigger": "5 seconds"}
    assert settings_after(known, {"password": HIDDEN}, keep=False) == {"password": "s3cret"}
    with pytest.raises(ApiError, match="token"):
        settings_after(known, {"token": HIDDEN}, keep=False)


def test_the_service_says_what_is_wrong_with_settings(console: ConsoleProcess) -> None:
    wrong = {"name": "wrong", "config": {"connector.class": "pipeline"}}
    status, _, answer = console.try_change("POST", "/api/connectors", wrong)
    assert status == 400
    assert "pipeline.sql" in json.loads(answer)["error"]["message"]
    assert console.try_change("PUT", "/api/connectors/none", {"config": {}})[0] == 404
    assert console.try_change("DELETE", "/api/connectors/none", {"confirm": "no"})[0] == 400
    assert console.try_change("POST", "/api/connectors/none/stop")[0] == 404


def test_dead_letters_are_listed_replayed_once_and_dropped(
    cluster: barnabas.Cluster, console: ConsoleProcess
) -> None:
    servers = cluster.bootstrap_servers
    with barnabas.Admin(servers) as admin:
        before = sum(admin.offsets("orders").values())
    write_letters(servers, "bad-orders", "orders", b"one", b"two", b"three")
    found = console.get("/api/dead-letters?topic=bad-orders&reason=TWO")
    assert [each["value"]["text"] for each in found["letters"]] == ["two"]
    assert found["letters"][0]["origin"] == {"topic": "orders", "partition": "0", "offset": "1"}
    assert console.ask("/api/dead-letters?topic=nowhere")[0] == 404
    replay = {"topic": "bad-orders", "reason": ""}
    sent = console.change("POST", "/api/dead-letters/replay", replay)
    assert sent == {"sent": {"orders": 3}, "left": 0, "uncertain": []}
    nothing = console.change("POST", "/api/dead-letters/replay", replay)
    assert nothing == {"sent": {}, "left": 0, "uncertain": []}
    with barnabas.Admin(servers) as admin:
        assert sum(admin.offsets("orders").values()) >= before + 3
    assert all(
        each["replayed"] for each in console.get("/api/dead-letters?topic=bad-orders")["letters"]
    )
    drop = {"topic": "bad-orders", "replayed": True, "confirm": "bad-orders"}
    assert console.change("POST", "/api/dead-letters/drop", drop) == {"deleted": 3, "kept": 0}
    assert console.get("/api/dead-letters?topic=bad-orders")["total"] == 0


def test_letters_that_a_replay_has_passed_over_are_not_deleted_as_sent_back(
    cluster: barnabas.Cluster, console: ConsoleProcess
) -> None:
    servers, topic = cluster.bootstrap_servers, "odd-orders"
    with barnabas.Admin(servers) as admin:
        admin.create_topic(topic, partitions=1)
    write_letters(servers, topic, "orders", b"red", b"blue", b"red", b"red", b"blue")
    filtered = {"topic": topic, "reason": "red"}
    replay = "/api/dead-letters/replay"
    assert console.change("POST", replay, filtered) == {
        "sent": {"orders": 3},
        "left": 2,
        "uncertain": [],
    }
    letters = console.get(f"/api/dead-letters?topic={topic}&limit=4")
    assert (letters["total"], letters["complete"], len(letters["letters"])) == (5, True, 4)
    letters = console.get(f"/api/dead-letters?topic={topic}")["letters"]
    sent = {each["offset"] for each in letters if each["replayed"]}
    assert sent == {0, 2, 3}
    drop = {"topic": topic, "replayed": True, "confirm": topic}
    assert console.change("POST", "/api/dead-letters/drop", drop) == {"deleted": 1, "kept": 4}
    assert console.change("POST", "/api/dead-letters/drop", drop) == {"deleted": 0, "kept": 4}
    left = console.get(f"/api/dead-letters?topic={topic}")["letters"]
    assert {each["value"]["text"] for each in left} == {"blue", "red"}
    assert len(left) == 4
    write_letters(servers, topic, "orders", b"late")
    everything = {"topic": topic, "reason": ""}
    sent_back = console.change("POST", replay, everything)
    assert sent_back == {"sent": {"orders": 3}, "left": 0, "uncertain": []}
    assert console.change("POST", "/api/dead-letters/drop", drop) == {"deleted": 5, "kept": 0}


def test_a_letter_is_shown_by_the_rules_of_the_topic_that_it_came_from() -> None:
    headers = (("dead-letter.topic", b"payments"), ("dead-letter.reason", b"4711 is wrong"))
    letter = letter_of(Message("bad", 0, 7, 0, b"4711", b"card 4711", headers))
    masked = shown(letter, Masks([parse_mask("payments:key")]), {})
    assert "4711" not in str(masked)
    assert (masked["key"]["text"], masked["replayed"]) == (MASK, False)
    assert shown(letter, Masks([]), None)["replayed"] is None  # the group may not be seen
    assert shown(letter, Masks([]), {})["key"]["text"] == "4711"


def test_a_list_keeps_the_newest_letters_only() -> None:
    newest, made = Newest(3), []

    def show(offset: int) -> dict[str, int]:
        made.append(offset)
        return {"offset": offset}

    for offset in [*range(50, 0, -1), 60]:
        message = Message("bad", 0, offset, offset, b"k", b"v" * 900, ())
        newest.add(letter_of(message), partial(show, offset))
    assert [each["offset"] for each in newest.in_order()] == [60, 50, 49]
    assert (newest.total, made) == (51, [50, 49, 48, 60])
    assert newest.read_bytes > 51 * 900


def test_what_is_passed_over_fits_into_the_text_of_an_offset() -> None:
    numbers = range(10**15, 10**15 + 2_000)
    passed = PassedOver().after((offset, offset % 2 == 0) for offset in numbers)
    assert len(passed.encode()) < 4_096
    again = PassedOver.decode(passed.encode())
    assert again == passed
    assert all(again.has(offset) for offset in range(10**15, 10**15 + 2_000, 2))
    assert not again.has(10**15 + 1)
    assert again.since(10**15 + 1).first == 10**15 + 2
    assert PassedOver.decode("passed-over:x") == PassedOver.decode("") == PassedOver()
