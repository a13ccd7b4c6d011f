"""`barnabas produce`."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pytest

from tests.cli.conftest import Cli
from tests.conftest import MakeBroker
from tests.support.wait import LIMIT_S, wait_until

NewTopic = Callable[..., str]


def read(cli: Cli, topic: str) -> list[dict[str, object]]:
    lines = cli.ok("consume", topic, "--no-follow", "--json").splitlines()
    return [json.loads(line) for line in lines]


def test_a_line_is_a_value(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, stdin="one\n\nthrée\nno line end")
    records = read(cli, topic)
    assert [record["value"] for record in records] == ["one", "", "thrée", "no line end"]
    assert [record["key"] for record in records] == [None] * 4
    assert abs(time.time() * 1000 - float(str(records[0]["timestamp"]))) < 60_000


def test_keys_nulls_and_headers(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok(
        *("produce", topic, "--key-separator", "::", "--null-marker", "NULL"),
        *("--header", "a=1", "--header", "b=x=y"),
        stdin="k::v::w\nNULL::v\nk::NULL\n::\n",
    )
    records = read(cli, topic)
    assert [(record["key"], record["value"]) for record in records] == [
        ("k", "v::w"),
        (None, "v"),
        ("k", None),
        ("", ""),
    ]
    assert records[0]["headers"] == [["a", "1"], ["b", "x=y"]]


def test_a_fixed_key_sends_all_to_one_partition(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(5)
    cli.ok("produce", topic, "--key", "k", stdin="1\n2\n3\n")
    records = read(cli, topic)
    assert [record["key"] for record in records] == ["k"] * 3
    assert len({record["partition"] for record in records}) == 1


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compression_and_acks(cli: Cli, new_topic: NewTopic, compression: str) -> None:
    topic = new_topic()
    lines = "".join(f"{i}\n" for i in range(2_000))
    acks = {"none": "0", "gzip": "1"}.get(compression, "all")
    cli.ok("produce", topic, "--compression", compression, "--acks", acks, stdin=lines)
    read = cli.ok("consume", topic, "--no-follow")
    if acks == "0":
        wait_until(lambda: cli.ok("consume", topic, "--no-follow") == lines)
    else:
        assert read == lines


def test_a_partition_of_choice(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    cli.ok("produce", topic, "--partition", "2", stdin="x\n")
    assert [record["partition"] for record in read(cli, topic)] == [2]
    assert "has 3, counted from 0" in cli.fails(2, "produce", topic, "-p", "3", stdin="x\n")


def test_bytes_that_are_no_text_pass_unharmed(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    data = bytes(byte for byte in range(256) if byte != 10)
    cli.ok("produce", topic, stdin=data)
    done = cli.run("consume", topic, "--no-follow", "--value-deserializer", "raw")
    assert done.stdout == data + b"\n"


def test_a_line_without_separator_ends_it_after_what_came_before(
    cli: Cli, new_topic: NewTopic
) -> None:
    topic = new_topic()
    error = cli.fails(1, "produce", topic, "--key-separator", ":", stdin="a:1\nb\nc:3\n")
    assert "line 2: no key separator ':'" in error
    assert [record["value"] for record in read(cli, topic)] == ["1"]


def test_what_was_not_delivered_is_counted(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("configs", "set", "topic", topic, "max.message.bytes=1000")
    lines = [json.dumps({"value": value}) for value in ("small", "x" * 2_000, "small")]
    done = cli.run("produce", topic, "--json", stdin="\n".join(lines))
    assert done.returncode == 1
    report = {"topic": topic, "delivered": 2, "failed": 1, "partitions": [0]}
    assert json.loads(done.stdout) == report
    assert b"1 of 3 records was not delivered" in done.stderr
    assert b"max.message.bytes" in done.stderr
    many = "".join(f"{i:0100}\n" for i in range(100))
    cli.ok("produce", topic, stdin=many)
    assert len(read(cli, topic)) == 102


def test_closed_standard_streams(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    command = f"{sys.executable} -m barnabas produce {topic}"
    for redirections, error in [
        ("<&-", b"standard input is closed"),
        ("<&- >&-", b"input is"),
        ("<&- 2>&-", b""),
    ]:
        done = subprocess.run(
            ["sh", "-c", f"{command} {redirections}"],
            env=cli.environment,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 2
        assert error in done.stderr
        assert done.stderr.count(b"\n") == bool(error)


def test_options_that_do_not_go_together(cli: Cli) -> None:
    cli.fails(2, "produce", "t", "--key", "k", "--key-separator", ":")
    cli.fails(2, "produce", "t", "--key-separator", "")
    cli.fails(2, "produce", "t", "--header", "x")


def test_an_unknown_topic(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    typo = f"{topic[:-1]}_"
    error = cli.fails(1, "produce", typo, stdin="x\n")
    assert f"topic {typo} does not exist" in error
    assert f"did you mean {topic}" in error
    assert "--create" in error


@pytest.mark.long
def test_a_topic_is_created_only_if_asked_for(make_broker: MakeBroker, name: str) -> None:
    """Even if the broker creates topics that clients ask for."""
    cli = Cli(make_broker(auto_create_topics_enable="true", num_partitions="2").bootstrap)
    assert "--create" in cli.fails(1, "produce", name, stdin="x\n")
    assert cli.json("topics", "list") == []
    done = cli.run("produce", name, "--create", stdin="x\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr.decode().splitlines()[0] == f"created topic {name}, 2 partitions"
    cli.ok("produce", name, "--create", stdin="y\n")
    assert sorted(str(record["value"]) for record in read(cli, name)) == ["x", "y"]


@pytest.mark.long
def test_what_was_sent_is_said(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    done = cli.run("produce", topic, "--partition", "1", stdin="x\n")
    assert done.stderr.decode() == f"sent 1 record to {topic}, partition 1\n"
    done = cli.run("produce", topic, stdin="".join(f"{i}\n" for i in range(1_000)))
    assert done.stderr.decode().startswith(f"sent 1,000 records to {topic}, partition")
    lines = "".join(f'{{"partition": {p}, "value": "x"}}\n' for p in (0, 1, 2))
    done = cli.run("produce", topic, "--json", "--keep-partitions", stdin=lines)
    assert done.stderr == b""
    assert json.loads(done.stdout)["partitions"] == [0, 1, 2]
    done = cli.run("produce", topic, "--quiet", stdin="x\n")
    assert (done.returncode, done.stderr) == (0, b"")
    done = cli.run("produce", topic)
    assert done.stderr.decode() == f"sent 0 records to {topic}\n"


def unread(process: "subprocess.Popen[bytes]") -> int:
    """How many bytes are in the pipe that it reads."""
    assert process.stdin is not None
    (count,) = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))
    return int(count)


def type_line(process: "subprocess.Popen[bytes]", line: bytes) -> None:
    """Until the line is sent: the command reads what comes after it only then.

    Standard input has to stay open until the command has ended: at its end the next line counts.
    """
    assert process.stdin is not None
    for each in (line, b"the next one, not ended"):
        process.stdin.write(each)
        process.stdin.flush()
        wait_until(lambda: unread(process) == 0, "the command does not read")


def test_interrupting_delivers_what_was_typed(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    process = cli.start("produce", topic, stdin=subprocess.PIPE, real=True)
    assert process.stdin is not None
    process.stdin.write(b"typed\nhalf a line")
    process.stdin.flush()
    wait_until(lambda: read(cli, topic))
    type_line(process, b" and its end\n")
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT_S) == 130
    _, error = process.communicate()
    assert error.decode() == f"sent 2 records to {topic}, partition 0\n"
    assert [record["value"] for record in read(cli, topic)] == ["typed", "half a line and its end"]


def test_a_stopped_command_counts_what_was_not_delivered(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("configs", "set", "topic", topic, "min.insync.replicas=2")
    process = cli.start("produce", topic, "--timeout", "5", stdin=subprocess.PIPE)
    assert process.stdin is not None
    type_line(process, b"never acknowledged\n")
    process.terminate()
    assert process.wait(LIMIT_S) == 143
    _, error = process.communicate()
    # On a slow machine it says before that it still waits.
    assert error.decode().splitlines()[-1] == f"sent 0 records to {topic}; 1 not delivered"


def test_a_terminal_sees_a_summary(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "barnabas", "produce", topic],
            input=b"1\n2\n",
            stderr=theirs,
            env=cli.environment,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0
        assert b"sent 2 records to" in os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)


def test_records_wait_for_a_delay(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    done = cli.run("produce", topic, "--delay", "1h", "--key", "k", stdin="later\n")
    assert done.stderr.decode() == f"sent 1 record to {topic}\n"
    assert read(cli, topic) == []
    (record,) = read(cli, f"{topic}.delayed")
    assert (record["key"], record["value"]) == ("k", "later")
    assert cli.ok("produce", topic, "--delay", "0s", "--quiet", stdin="now\n") == ""
    assert [record["value"] for record in read(cli, topic)] == ["now"]


def test_what_does_not_go_with_a_delay_is_said(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    assert "write" in cli.fails(2, "produce", topic, "--delay", "soon")
    said = cli.fails(2, "produce", topic, "--delay", "1h", "--partition", "0")
    assert "--delay: the partition is chosen" in said
