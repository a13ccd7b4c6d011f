"""The console of a real Kafka: what is not Barnabas' alone works there too.

Needs the JAR files of Kafka, which `BARNABAS_KAFKA_JARS` names.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import expect

import barnabas
from barnabas.console.api.endpoints import ENDPOINTS
from benchmarks import kafka_process
from tests.console.browser import WAIT_MS, Visit, chromium
from tests.console.console_process import ConsoleProcess
from tests.support.wait import wait_until

expect.set_options(timeout=WAIT_MS)

TOPIC = "orders"
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "share.coordinator.state.topic.num.partitions": "1",
}
PAGES = (
    "/",
    "/topics",
    *(f"/topics/{TOPIC}{tab}" for tab in ("", "?tab=partitions", "?tab=readers", "?tab=settings")),
    f"/topics/{TOPIC}?m=0:0",
    "/groups",
    *(f"/group?id={group}" for group in ("billing", "workers")),
    "/cluster",
    *(f"/cluster?tab={tab}" for tab in ("disks", "transactions", "settings")),
    "/access",
)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    if not kafka_process.is_available():
        pytest.skip(f"set {kafka_process.JARS} to test with a real Kafka")
    with kafka_process.kafka(SETTINGS, {}) as broker:
        bootstrap = f"{broker.host}:{broker.port}"
        with barnabas.Admin(bootstrap) as admin, barnabas.Producer(bootstrap) as producer:
            admin.create_topic(TOPIC, partitions=3)
            for n in range(100):
                producer.send(TOPIC, b'{"n": %d}' % n, b"k%d" % n, partition=n % 3)
            producer.flush()
            admin.set_group_offsets("billing", {barnabas.TopicPartition(TOPIC, 0): 10})
        yield bootstrap


@pytest.fixture(scope="module")
def console(servers: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    log = tmp_path_factory.mktemp("console") / "console.log"
    with ConsoleProcess(servers, log) as running:
        yield running


def test_real_kafka_answers_every_question(console: ConsoleProcess) -> None:
    values = {"topic": TOPIC, "node": "1", "partition": "0", "offset": "3"}
    more = {
        "/api/group": "?id=billing",
        "/api/dead-letters": f"?topic={TOPIC}",
        "/api/topics/{topic}/tail": "?cursor=0:0,1:0,2:0",
    }
    failed = {}
    for each in ENDPOINTS:
        if each.method == "GET" and each.path != "/api/pipeline":  # there is none
            path = each.path.format(**values) + more.get(each.path, "")
            status, _, body = console.ask(path)
            if status != 200:
                failed[path] = body
    assert failed == {}


def test_real_kafka_has_a_topic_from_creation_to_deletion(console: ConsoleProcess) -> None:
    body = {"name": "made", "partitions": 1, "settings": {"retention.ms": "3600000"}}
    console.change("POST", "/api/topics", body)
    change = {"settings": {"cleanup.policy": "compact", "retention.ms": None}}
    console.change("PUT", "/api/topics/made/settings", change)
    settings = {each["name"]: each for each in console.get("/api/topics/made/settings")["settings"]}
    assert (settings["cleanup.policy"]["value"], settings["cleanup.policy"]["own"]) == (
        "compact",
        True,
    )
    assert settings["retention.ms"]["own"] is False
    console.change("POST", "/api/topics/made/partitions", {"total": 2})
    wait_until(lambda: len(console.get("/api/topics/made")["partitions"]) == 2)
    console.change("PUT", "/api/topics/made/settings", {"settings": {"cleanup.policy": "delete"}})
    sent = {"key": "k", "value": "v", "partition": 1, "headers": [["h", "1"]]}
    at = console.change("POST", "/api/topics/made/messages", sent)
    assert at == {"partition": 1, "offset": 0}
    again = console.change("POST", "/api/topics/made/messages/1/0/send-again", {})
    assert again["topic"] == "made"
    assert console.get("/api/topics/made/messages")["total"] == 2
    console.change("POST", "/api/topics/made/empty", {"confirm": "made"})
    wait_until(lambda: console.get("/api/topics/made/messages")["total"] == 0)
    console.change("DELETE", "/api/topics/made", {"confirm": "made"})
    wait_until(lambda: console.ask("/api/topics/made")[0] == 404)


def test_real_kafka_says_what_became_of_transactions(console: ConsoleProcess, servers: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.create_topic("payments", partitions=1)
    with barnabas.Producer(servers, transactional_id="console") as producer:
        with producer.transaction():
            producer.send("payments", b"kept")
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send("payments", b"dropped")
            producer.flush()
            raise ZeroDivisionError
        with producer.transaction():
            producer.send("payments", b"pending")
            producer.flush()
            listed = console.get("/api/transactions")["transactions"]
            assert [each["id"] for each in listed] == ["console"]
            messages = console.get("/api/topics/payments/messages")["messages"]
    assert {each["value"]["text"]: each["transaction"] for each in messages} == {
        "kept": "committed",
        "dropped": "aborted",
        "pending": "open",
    }


def test_real_kafka_has_groups_of_every_type(console: ConsoleProcess, servers: str) -> None:
    with (
        barnabas.Queue(servers, TOPIC, group="workers") as queue,
        barnabas.Consumer(servers, TOPIC, group="shop", group_protocol="consumer") as consumer,
    ):
        wait_until(lambda: queue.get(1.0))
        wait_until(lambda: consumer.poll(1.0))
        group = wait_until(
            lambda: (found := console.get("/api/group?id=shop"))["state"] == "Stable" and found
        )
        assert (group["type"], len(group["members"])) == ("consumer", 1)
        share = console.get("/api/group?id=workers")
        assert (share["type"], share["members"][0]["topics"]) == ("share", [TOPIC])
        wait_until(
            lambda: (
                {"billing", "workers", "shop"}
                <= {each["id"] for each in console.get("/api/groups")["groups"]}
            )
        )
    shown = console.get("/api/group?id=billing")
    lags = {each["partition"]: each["lag"] for each in shown["partitions"]}
    assert lags[0] == 24
    assert shown["behind_ms"] is not None
    plan = {"id": "billing", "to": "latest"}
    preview = console.change("POST", "/api/group/reset", plan)
    assert [each["change"] for each in preview["plan"]] == [24]
    console.change("POST", "/api/group/reset", {**plan, "execute": True})
    moved = console.get("/api/group?id=billing")["partitions"]
    assert [each["lag"] for each in moved if each["committed"] is not None] == [0]
    console.change("POST", "/api/group/reset", {**plan, "to": "earliest", "execute": True})


def test_real_kafka_has_users_rules_and_settings_of_nodes(console: ConsoleProcess) -> None:
    console.change("PUT", "/api/users", {"name": "ada", "password": "secret-of-ada"})
    wait_until(lambda: console.get("/api/users")["users"])
    rule = {
        "principal": "User:ada",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": TOPIC,
    }
    console.change("POST", "/api/acls", rule)
    wait_until(lambda: console.get("/api/acls")["acls"])
    assert console.change("DELETE", "/api/acls", rule) == {"deleted": 1}
    console.change("DELETE", "/api/users", {"name": "ada", "confirm": "ada"})
    path = "/api/cluster/nodes/1/settings"
    console.change("PUT", path, {"settings": {"log.cleaner.threads": "2"}})

    def changed() -> bool:  # a node hears of it a moment later
        settings = {each["name"]: each for each in console.get(path)["settings"]}
        found = settings["log.cleaner.threads"]
        return (found["value"], found["own"]) == ("2", True)

    wait_until(changed)


def test_real_kafka_is_shown_by_every_page(console: ConsoleProcess, tmp_path: Path) -> None:
    with chromium() as browser:
        visit = Visit(browser, console.url)
        for path in PAGES:
            page = visit.open(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.locator(".loading")).to_have_count(0)
            expect(page.get_by_role("alert")).to_have_count(0)
        visit.check()
        visit.close()
