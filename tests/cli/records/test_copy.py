"""`consume --json | produce --json`: a copy that loses nothing."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.records.deserializers import Deserializer
from barnabas.cli.records.input_format import InputRecord, json_parser
from barnabas.cli.records.record_format import compile_json
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.records.record import Record
from tests.cli.conftest import Cli

NewTopic = Callable[..., str]

NOT_TEXT = b"\xff\x00\n\xfe"
RECORDS: list[dict[str, Any]] = [
    {"key": b"plain", "value": b"text", "headers": [("a", b"1"), ("a", b"2")]},
    {"key": NOT_TEXT, "value": NOT_TEXT, "headers": [("bytes", NOT_TEXT), ("null", None)]},
    {"key": None, "value": b"", "headers": []},
    {"key": b"", "value": None, "headers": []},
    {"key": b"quotes", "value": b'{"not": "parsed"}\n\\xff "', "headers": [("\u00e9", b"")]},
]


def fill(cli: Cli, topic: str) -> None:
    async def send() -> None:
        async with ClusterClient(cli.bootstrap) as cluster, RecordProducer(cluster) as producer:
            for number, record in enumerate(RECORDS):
                await producer.send(topic, **record, partition=number % 3, timestamp_ms=10 + number)

    asyncio.run(send())


def stored(cli: Cli, topic: str) -> list[dict[str, Any]]:
    lines = cli.ok("consume", topic, "--no-follow", "--json").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        del record["topic"]
    return sorted(records, key=lambda record: record["timestamp"])


def test_a_copy_is_the_same(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    fill(cli, topic)
    copy = f"{topic}-copy"
    cli.ok("topics", "create", copy, "--partitions", "3")
    lines = cli.ok("consume", topic, "--no-follow", "--json")
    report = json.loads(cli.ok("produce", copy, "--json", "--keep-partitions", stdin=lines))
    assert report == {"topic": copy, "delivered": 5, "failed": 0, "partitions": [0, 1, 2]}
    records = stored(cli, copy)
    assert records == stored(cli, topic)
    assert [record["timestamp"] for record in records] == [10, 11, 12, 13, 14]
    assert [record["partition"] for record in records] == [0, 1, 2, 0, 1]


def test_partitions_are_chosen_by_key_unless_they_are_kept(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    line = '{"partition": 2, "key": "k", "value": "v"}\n'
    cli.ok("produce", topic, "--json", stdin=line)
    assert [record["partition"] for record in stored(cli, topic)] == [0]
    error = cli.fails(2, "produce", topic, "--json", "--keep-partitions", stdin=line)
    assert "has 1, counted from 0" in error


@pytest.mark.long
def test_options_that_say_the_same_as_the_json(cli: Cli) -> None:
    for options in (["--key", "k"], ["--key-separator", ":"], ["--null-marker", "NULL"]):
        assert options[0] in cli.fails(2, "produce", "t", "--json", *options)
    both = ("--json", "--keep-partitions", "--partition", "1")
    assert "--keep-partitions" in cli.fails(2, "produce", "t", *both)
    assert "--json" in cli.fails(2, "produce", "t", "--keep-partitions")


@pytest.mark.long
def test_a_line_that_is_no_record_is_named(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    for line, reason in (
        ("hello", "not JSON"),
        ("[1]", "a list, not an object"),
        ('{"vaule": "x"}', "unknown field 'vaule'"),
        ('{"key": "x"}', "no value"),
        ('{"value": "x", "value_base64": "eA=="}', "value and value_base64"),
        ('{"value_base64": "?"}', "value_base64"),
        ('{"value": "x", "headers": {"a": "b"}}', "headers"),
        ('{"value": "x", "headers": [["a", 1]]}', "headers"),
        ('{"value": "x", "timestamp": "now"}', "timestamp"),
    ):
        error = cli.fails(1, "produce", topic, "--json", stdin=f"{line}\n")
        assert "line 1: " in error
        assert reason in error, error
    assert stored(cli, topic) == []


def test_values_may_be_json_themselves(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, "--json", stdin='{"key": 7, "value": {"a": [1, "é"]}}\n')
    (record,) = stored(cli, topic)
    assert (record["key"], record["value"]) == ("7", '{"a":[1,"é"]}')


def test_options_give_what_lines_lack(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    options = ("--header", "copied=yes", "--partition", "1")
    cli.ok("produce", topic, "--json", *options, stdin='{"value": "x", "headers": [["a", null]]}\n')
    (record,) = stored(cli, topic)
    assert record["headers"] == [["a", None], ["copied", "yes"]]
    assert record["partition"] == 1


data = st.binary(max_size=20) | st.none()


@given(data, data, st.lists(st.tuples(st.text(max_size=5), data), max_size=3), st.integers(0, 9))
def test_every_record_can_be_read_back(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], time: int
) -> None:
    render = compile_json(Deserializer.STRING, Deserializer.STRING)
    line = render(TopicPartition("t", 4), Record(time, key, value, tuple(headers), 9))
    parse = json_parser((), partition=None, keep_partitions=True)
    assert parse(line) == InputRecord(value, key, headers, 4, time)
