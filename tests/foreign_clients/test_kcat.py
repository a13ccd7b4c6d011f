"""kcat, where it is installed (Debian's package of that name)."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.conftest import NewTopic
from tests.support.machine import find_tool, missing
from tests.support.wait import LIMIT_S, wait_until

KCAT = find_tool("kcat")
pytestmark = pytest.mark.skipif(KCAT is None, reason=missing("kcat"))


def kcat(bootstrap: str, *arguments: str, stdin: str = "") -> str:
    command = [str(KCAT), "-b", bootstrap, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def consume(bootstrap: str, topic: str, *arguments: str) -> list[dict]:
    output = kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-J", *arguments)
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produce_and_consume(
    bootstrap: str, new_topic: NewTopic, compression: str, acks: str
) -> None:
    topic = new_topic()
    lines = [f"key{i}:value {i} {'x' * i}" for i in range(100)]
    options = ["-z", compression, "-X", f"acks={acks}", "-H", "from=kcat", "-K", ":"]
    kcat(bootstrap, "-P", "-t", topic, *options, stdin="\n".join(lines))
    wait_until(lambda: len(consume(bootstrap, topic)) == 100, "the records are not there")
    records = consume(bootstrap, topic)
    assert [r["offset"] for r in records] == list(range(100))
    assert [f"{r['key']}:{r['payload']}" for r in records] == lines
    assert all(r["headers"] == ["from", "kcat"] for r in records)


def test_metadata_is_listed(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    listed = json.loads(kcat(bootstrap, "-L", "-J"))
    (broker,) = listed["brokers"]
    (found,) = (t for t in listed["topics"] if t["topic"] == topic)
    assert [p["partition"] for p in found["partitions"]] == [0, 1, 2]
    assert {p["leader"] for p in found["partitions"]} == {broker["id"]}
    (one,) = json.loads(kcat(bootstrap, "-L", "-J", "-t", topic))["topics"]
    assert one == found


def test_offsets_by_position_and_time(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    kcat(bootstrap, "-P", "-t", topic, stdin="a\nb\nc")
    time.sleep(0.05)
    middle_ms = int(time.time() * 1000)
    kcat(bootstrap, "-P", "-t", topic, stdin="d\ne")
    assert [r["payload"] for r in consume(bootstrap, topic, "-o", "2")] == ["c", "d", "e"]
    assert [r["payload"] for r in consume(bootstrap, topic, "-o", "-1")] == ["e"]
    since = consume(bootstrap, topic, "-o", f"s@{middle_ms}")
    assert [r["payload"] for r in since] == ["d", "e"]
    assert f"{topic} [0] offset 3" in kcat(bootstrap, "-Q", "-t", f"{topic}:0:{middle_ms}")


def test_two_members_of_a_group_share_the_partitions(
    bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(4)
    options = ["-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=300", "-u"]
    command = [str(KCAT), "-b", bootstrap, *options, "-f", "%p %s\\n", "-G", topic, topic]
    files = [tmp_path / "one", tmp_path / "two"]
    members = []
    for file in files:
        with file.open("wb") as out:
            members.append(subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL))

    def lines() -> list[list[str]]:
        return [file.read_text().splitlines() for file in files]

    try:
        wait_until(lambda: _described(bootstrap, topic) == 2, "the members did not join")
        for partition in range(4):
            kcat(bootstrap, "-P", "-t", topic, "-p", str(partition), stdin="a\nb\nc")
        wait_until(lambda: sum(map(len, lines())) >= 12, "not everything was read")
    finally:
        for member in members:
            member.terminate()
            member.wait(LIMIT_S)
    outputs = lines()
    everything = sorted(line for output in outputs for line in output)
    assert everything == [f"{p} {v}" for p in range(4) for v in "abc"]
    partitions = [{line.split()[0] for line in output} for output in outputs]
    assert [len(share) for share in partitions] == [2, 2]


def _described(bootstrap: str, group: str) -> int:
    with Confluent().admin(bootstrap) as admin:
        state, members = admin.describe_group(group)
    return members if state == "Stable" else 0
