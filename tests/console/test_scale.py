"""Many topics and groups, and a large message, on a real broker."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import barnabas
from tests.console.console_process import ConsoleProcess
from tests.support.wait import wait_until

CREATED_AT_ONCE = 500
LARGE = 5_000_000
CONSOLE_BYTES = 400 * 1024 * 1024


@pytest.fixture(params=[(300, 30), pytest.param((10_000, 1_000), marks=pytest.mark.long)])
def large_console(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ConsoleProcess, int, int]]:
    """A console of a cluster with so many topics and groups."""
    topics, groups = request.param
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        for first in range(0, topics, CREATED_AT_ONCE):
            numbers = range(first, min(topics, first + CREATED_AT_ONCE))
            made = client.create_topics(
                [NewTopic(f"events-{n:05}", 1, 1) for n in numbers],
                operation_timeout=120,
                request_timeout=120,
            )
            for each in made.values():
                each.result()
        with barnabas.Admin(servers) as admin, barnabas.Producer(servers) as producer:
            for n in range(groups):
                name = barnabas.TopicPartition(f"events-{n:05}", 0)
                admin.set_group_offsets(f"reader-{n:04}", {name: 0})
            for _ in range(7):
                producer.send("events-00007", b"x")
            admin.create_topic("large", configs={"max.message.bytes": str(2 * LARGE)})
        with barnabas.Producer(servers, batch_bytes=2 * LARGE) as producer:
            producer.send("large", b"5" * LARGE, b"one line")
        with ConsoleProcess(servers, tmp_path / "console.log") as console:
            yield console, topics, groups


def test_lists_of_many_topics_and_groups_and_a_large_message(
    large_console: tuple[ConsoleProcess, int, int],
) -> None:
    console, topics, groups = large_console
    listed = console.get("/api/topics?sort=lag&descending=true")
    assert (listed["total"], len(listed["topics"]), listed["error"]) == (topics + 1, 50, None)
    assert (listed["topics"][0]["name"], listed["topics"][0]["lag"]) == ("events-00007", 7)
    assert console.get("/api/topics?search=0029")["total"] == 11  # and events-00029
    last = console.get(f"/api/topics?page={topics // 50}")
    assert [last["topics"][0]["name"], len(last["topics"])] == [f"events-{topics - 50:05}", 50]
    assert console.get("/api/groups?sort=lag&descending=true")["groups"][0]["id"] == "reader-0007"
    assert console.get("/api/groups")["total"] == groups
    health = wait_until(
        lambda: (found := console.get("/api/overview")["health"])["level"] and found
    )
    assert health["not_checked"] == {}
    (shown,) = console.get("/api/topics/large/messages")["messages"]
    assert (shown["value"]["size"], shown["value"]["truncated"]) == (LARGE, True)
    status, _, body = console.ask("/api/topics/large/messages/0/0/value")
    assert (status, len(body)) == (200, LARGE)
    assert psutil.Process(console.process.pid).memory_info().rss < CONSOLE_BYTES
