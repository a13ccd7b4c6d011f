"""`barnabas dead-letters`: list, show, replay each once, drop."""

import asyncio
import json
import subprocess
import sys

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.client.producer.dead_letters import letter_headers
from barnabas.records.message import Message
from tests.support import fork_server
from tests.support.wait import LIMIT_S


def command(servers: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "barnabas", "dead-letters", *arguments, "-b", servers]
    return fork_server.run(line, capture_output=True, text=True, check=False, timeout=LIMIT_S)


@pytest.mark.long
def test_letters_are_listed_shown_replayed_once_and_dropped(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    dead = f"{topic}-dead"
    app_broker.create_topic(dead)
    with barnabas.Producer(servers) as producer:
        for number, reason in enumerate(("ValueError: poison", "ConnectionError: no bank")):
            record = Message(topic, 3, number, 0, b"k", b"v%d" % number, (("h", b"1"),))
            headers = letter_headers(record, "billing", reason, 4)
            producer.send(dead, record.value, record.key, headers=headers)

    listed = command(servers, "list", dead, "--json")
    assert [each["dead-letter.reason"] for each in json.loads(listed.stdout)] == [
        "ValueError: poison",
        "ConnectionError: no bank",
    ]
    assert "ConnectionError" not in command(servers, "list", dead, "--reason", "POISON").stdout
    shown = command(servers, "show", dead, "0:1").stdout
    for line in (f"record:     {topic}:3@1", "deliveries: 4", "value:      v1", "header:     h=1"):
        assert line in shown
    missing = command(servers, "show", dead, "0:7")
    assert (missing.returncode, missing.stderr.strip()) == (
        1,
        f"error: {dead} has no record at 0:7",
    )

    assert command(servers, "replay", dead).stdout == f"sent 2 back to {topic}\n"
    assert "no dead letters left to send back" in command(servers, "replay", dead).stderr
    found: list[Message[bytes, bytes]] = []
    with barnabas.Consumer(servers, topic) as consumer:
        while len(found) < 2:
            found += consumer.poll(120)
    assert [(each.value, each.headers) for each in found] == [
        (b"v0", (("h", b"1"),)),
        (b"v1", (("h", b"1"),)),
    ]

    assert command(servers, "drop", dead, "--replayed", "--yes").stdout.startswith("deleted 2 of")
    assert json.loads(command(servers, "list", dead, "--json").stdout) == []
    missing = command(servers, "list", f"{dead}x")
    assert (missing.returncode, f"did you mean {dead}" in missing.stderr) == (1, True)


def test_letters_that_a_replay_has_passed_over_are_sent_back_by_a_later_one(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    dead = f"{topic}-dead"
    app_broker.create_topic(dead, partitions=2)
    colours = ("red", "blue", "red", "green", "blue", "red")

    def write(*reasons: str) -> None:
        with barnabas.Producer(servers, transactional_id=f"{dead}-writer") as producer:
            for number, reason in enumerate(reasons):
                record = Message(topic, 3, number, 0, b"k", reason.encode(), ())
                headers = letter_headers(record, "billing", reason, 4)
                with producer.transaction():  # so that there are offsets without letters
                    producer.send(
                        dead, record.value, headers=headers, partition=1 if number == 5 else 0
                    )

    write(*colours)
    with barnabas.Producer(servers) as producer:
        producer.send(dead, b"no letter", partition=0)
    first = command(servers, "replay", dead, "--reason", "green")
    assert first.stdout == f"sent 1 back to {topic}\n"
    assert "5 left, which --reason has passed over" in first.stderr
    again = command(servers, "replay", dead, "--reason", "green")
    assert "no dead letter with this reason left to send back" in again.stderr
    assert "5 left, which --reason has passed over" in again.stderr
    write("green", "blue")
    second = command(servers, "replay", dead, "--reason", "BLUE", "--json")
    assert json.loads(second.stdout) == {"sent": {topic: 3}, "left": 4, "uncertain": []}
    letters = json.loads(command(servers, "list", dead, "--json").stdout)
    assert sorted(each["value"] for each in letters if each["sent_back"]) == [
        "blue",
        "blue",
        "blue",
        "green",
    ]
    assert command(servers, "replay", dead).stdout == f"sent 4 back to {topic}\n"
    assert "no dead letters left to send back" in command(servers, "replay", dead).stderr
    found: list[bytes | None] = []
    with barnabas.Consumer(servers, topic) as consumer:
        while len(found) < 8:
            found += [each.value for each in consumer.poll(120)]
        found += [each.value for each in consumer.poll(0.2)]
    assert sorted(str(each) for each in found) == sorted(
        str(each.encode()) for each in (*colours, "green", "blue")
    )
    kept = command(servers, "drop", dead, "--replayed", "--yes")
    assert " stay: " in kept.stderr  # behind the record that is no letter


def test_a_replay_that_fails_leaves_letters_that_were_passed_over_as_they_were(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    dead, missing = f"{topic}-dead", f"{topic}-missing"
    app_broker.create_topic(dead)
    app_broker.create_topic(missing)
    with barnabas.Producer(servers) as producer:
        for number, origin in enumerate((topic, missing)):
            record = Message(origin, 3, number, 0, b"k", b"v%d" % number, ())
            producer.send(dead, record.value, headers=letter_headers(record, "g", "bad", 4))
    assert "2 left" in command(servers, "replay", dead, "--reason", "other").stderr
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(missing)
    failed = command(servers, "replay", dead)
    assert (failed.returncode, failed.stdout) == (1, "")
    app_broker.create_topic(missing)
    sent = command(servers, "replay", dead).stdout
    assert sent == f"sent 1 back to {topic}\nsent 1 back to {missing}\n"
    found: list[bytes | None] = []
    with barnabas.Consumer(servers, topic) as consumer:
        while not found:
            found += [each.value for each in consumer.poll(120)]
        found += [each.value for each in consumer.poll(0.2)]
    assert found == [b"v0"]


def test_letters_that_may_have_been_sent_back_are_named_and_left_out(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    dead = f"{topic}-dead"
    app_broker.create_topic(dead)
    with barnabas.Producer(servers) as producer:
        for number in range(3):
            record = Message(topic, 3, number, 0, b"k", b"v%d" % number, ())
            producer.send(dead, record.value, headers=letter_headers(record, "g", "bad", 4))

    async def mark() -> None:
        async with ClusterClient(servers) as cluster:
            where = TopicPartition(dead, 0)
            text = {where: "passed-over: +0-1"}
            await commit_offsets(cluster, f"{dead}.replay", {where: 3}, metadata=text)

    asyncio.run(mark())
    seen = command(servers, "replay", dead)
    assert seen.stdout == ""
    assert "0:0 to 0:1" in seen.stderr
    assert "no dead letters left" not in seen.stderr
    reset = f"groups reset-offsets {dead}.replay --all-topics --to-earliest --execute"
    assert reset in seen.stderr
    listed = json.loads(command(servers, "list", dead, "--json").stdout)
    assert [each["sent_back"] for each in listed] == [None, None, True]
    shown = command(servers, "list", dead).stdout.splitlines()
    assert "SENT_BACK" in shown[0]
    line = [sys.executable, "-m", "barnabas", *reset.split(), "-b", servers]
    fork_server.run(line, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    assert command(servers, "replay", dead).stdout == f"sent 3 back to {topic}\n"


def test_a_topic_without_dead_letters_is_named_as_such(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"a job")
    alone = command(servers, "list", topic)
    assert f"{topic} has no dead letters" in alone.stderr
    assert "?:?@?" not in alone.stdout
    app_broker.create_topic(f"{topic}-dead")
    assert f"{topic}-dead" in command(servers, "list", topic).stderr
    assert json.loads(command(servers, "list", topic, "--json").stdout) == []
