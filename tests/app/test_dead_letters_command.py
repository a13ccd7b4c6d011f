"""`barnabas dead-letters`: list, show, replay each once, drop."""

import json
import subprocess
import sys

import pytest

import barnabas
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
