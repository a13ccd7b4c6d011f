"""`barnabas topics` and `barnabas configs`."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import Cli
from tests.support.wait import LIMIT_S


def test_the_life_of_a_topic(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--partitions", "2", "--config", "retention.ms=100000")
    (described,) = cli.json("topics", "describe", name)
    assert described["topic"] == name
    assert described["configs"] == {"retention.ms": "100000"}
    assert [row["partition"] for row in described["partitions"]] == [0, 1]
    assert described["partitions"][0]["end_offset"] == 0
    assert described["partitions"][0]["isr"] == [described["partitions"][0]["leader"]]

    cli.ok(
        *("topics", "alter", name, "--partitions", "3"),
        *("--config", "segment.bytes=1048576", "--delete-config", "retention.ms"),
    )
    (described,) = cli.json("topics", "describe", name)
    assert len(described["partitions"]) == 3
    assert described["configs"] == {"segment.bytes": "1048576"}

    listed = {row["topic"]: row for row in cli.json("topics", "list")}
    assert listed[name] == {"topic": name, "partitions": 3, "replication_factor": 1}
    table = cli.ok("topics", "list").splitlines()
    assert table[0].split() == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert [name, "3", "1"] in [line.split() for line in table]

    cli.ok("topics", "delete", name)
    assert name not in {row["topic"] for row in cli.json("topics", "list")}


def test_sizes_and_offsets_show_what_was_produced(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic(lines="a:1\nb:2\n")
    (row,) = cli.json("topics", "describe", topic)[0]["partitions"]
    assert (row["start_offset"], row["end_offset"]) == (0, 2)
    assert row["size_bytes"] > 2 * 7
    text = cli.ok("topics", "describe", topic)
    assert text.startswith(f"topic {topic}: 1 partition, configs: default\n")


def test_a_topic_that_exists(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    error = cli.fails(1, "topics", "create", topic)
    assert f"topic {topic} already exists; use --if-not-exists to ignore this" in error
    created = cli.json("topics", "create", topic, "--if-not-exists")
    assert created == {"topic": topic, "created": False}


def test_a_topic_that_does_not_exist(cli: Cli, name: str) -> None:
    for command in (["describe", name], ["alter", name, "--partitions", "2"], ["delete", name]):
        assert name in cli.fails(1, "topics", *command)


def test_describe_suggests_similar_names(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    assert f"did you mean {topic}" in cli.fails(1, "topics", "describe", f"{topic}x")


def test_deleting_goes_as_far_as_it_can_and_says_where_it_could_not(
    cli: Cli, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    done = cli.run("topics", "delete", topic, "nowhere", "--json")
    assert done.returncode == 1
    assert b"topic nowhere" in done.stderr
    results = {row["topic"]: row for row in json.loads(done.stdout)}
    assert results[topic]["deleted"]
    assert results["nowhere"]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_what_the_broker_refuses_is_said_in_one_line(
    cli: Cli, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    assert "can be added" in cli.fails(1, "topics", "alter", topic, "--partitions", "1")
    assert "no.such" in cli.fails(1, "topics", "alter", topic, "--config", "no.such=1")
    assert "nothing to alter" in cli.fails(2, "topics", "alter", topic)
    assert "NAME=VALUE" in cli.fails(2, "topics", "alter", topic, "--config", "x")
    assert "INVALID_TOPIC" in cli.fails(1, "topics", "create", "no/good")


def test_partitions_that_are_added_move_keys(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    done = cli.run("topics", "alter", topic, "--partitions", "3")
    assert b"keys are hashed to 3 partitions from now on" in done.stderr
    done = cli.run("topics", "alter", topic, "--config", "retention.ms=1000")
    assert b"keys" not in done.stderr


def test_subscriptions_to_client_metrics(cli: Cli, name: str) -> None:
    cli.ok("configs", "set", "client-metrics", name, "metrics=org.a,org.b", "match=client_id=b-.*")
    rows = [row for row in cli.json("configs", "get", "client-metrics") if name in row.values()]
    assert {row["name"]: row["value"] for row in rows} == {
        "metrics": "org.a,org.b",
        "match": "client_id=b-.*",
    }
    assert {row["source"] for row in rows} == {"client_metrics"}
    cli.ok("configs", "unset", "client-metrics", name, "metrics", "match")
    assert name not in str(cli.json("configs", "get", "client-metrics"))


def test_configs_of_all_brokers(cli: Cli) -> None:
    name = "num.recovery.threads.per.data.dir"
    assert b"all brokers" in cli.run("configs", "set", "broker", "", f"{name}=3").stderr
    (row,) = [row for row in cli.json("configs", "get", "broker") if row["name"] == name]
    assert (row["value"], row["source"]) == ("3", "dynamic_default_broker")
    cli.ok("configs", "unset", "broker", "", name)


def test_configs_of_a_topic(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    assert cli.json("configs", "get", "topic", topic) == []
    cli.ok("configs", "set", "topic", topic, "retention.ms=5000", "cleanup.policy=compact")
    assert cli.json("configs", "get", "topic", topic) == [
        {
            "topic": topic,
            "name": setting,
            "value": value,
            "source": "topic",
            "read_only": False,
        }
        for setting, value in (("cleanup.policy", "compact"), ("retention.ms", "5000"))
    ]
    cli.ok("configs", "unset", "topic", topic, "cleanup.policy")
    own = cli.ok("configs", "get", "topic", topic).splitlines()
    assert [line.split()[:3] for line in own[1:]] == [[topic, "retention.ms", "5000"]]
    everything = {row["name"]: row for row in cli.json("configs", "get", "topic", topic, "--all")}
    assert everything["cleanup.policy"]["value"] == "delete"
    assert everything["cleanup.policy"]["source"] != "topic"


@pytest.mark.long
def test_a_misspelt_setting_is_not_unset(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    cli.ok("configs", "set", "topic", topic, "retention.ms=5000")
    wanted = f"topic {topic} has no setting 'retention.sm'; did you mean 'retention.ms'?"
    unset = ("configs", "unset", "topic", topic, "retention.ms", "retention.sm")
    assert wanted in cli.fails(2, *unset)
    assert wanted in cli.fails(2, "topics", "alter", topic, "--delete-config", "retention.sm")
    assert [row["name"] for row in cli.json("configs", "get", "topic", topic)] == ["retention.ms"]
    (node_id,) = {row["broker"] for row in cli.json("configs", "get", "broker", "--all")}
    error = cli.fails(2, "configs", "unset", "broker", node_id, "max.connection")
    assert f"broker {node_id} has no setting 'max.connection'; did you mean" in error
    cli.ok("configs", "unset", "broker", node_id, "max.connections")
    cli.ok("configs", "unset", "topic", topic, "retention.ms", "segment.ms")
    assert cli.json("configs", "get", "topic", topic) == []


def test_configs_of_a_broker(cli: Cli) -> None:
    rows = cli.json("configs", "get", "broker", "--all")
    (node_id,) = {row["broker"] for row in rows}
    assert "num.partitions" in {row["name"] for row in rows}
    assert cli.json("configs", "get", "broker", node_id, "--all") == rows
    assert "there is no broker '77'" in cli.fails(2, "configs", "get", "broker", "77")
    assert "missing topic name" in cli.fails(2, "configs", "get", "topic")


def test_an_unreachable_broker_has_exit_code_3_wherever_the_address_comes_from(cli: Cli) -> None:
    closed = "127.0.0.1:1"
    for arguments in (["-b", closed, "topics", "list"], ["topics", "list", "--bootstrap", closed]):
        error = cli.fails(3, *arguments)
        assert f"{closed} (connection refused)" in error
        assert "is `barnabas server` running" in error
    done = cli.run("topics", "list", environment={"BARNABAS_BOOTSTRAP": closed})
    assert done.returncode == 3
    assert "HOST:PORT" in cli.fails(2, "topics", "list", "-b", "host:port")


def test_json_and_verbose_are_understood_before_the_command_too(cli: Cli) -> None:
    assert isinstance(json.loads(cli.ok("--json", "topics", "list")), list)
    done = cli.run("--verbose", "topics", "describe", "nowhere")
    assert done.returncode == 1
    assert b"Traceback" in done.stderr


def test_a_closed_standard_output_is_no_reason_to_fail(cli: Cli) -> None:
    command = f"exec '{sys.executable}' -m barnabas -b {cli.bootstrap} topics list >&-"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_that_the_protocol_cannot_say(cli: Cli, name: str) -> None:
    for option, largest in (("--partitions", b"2147483647"), ("--replication-factor", b"32767")):
        done = cli.run("topics", "create", name, option, "99999999999")
        assert done.returncode == 2
        assert b"Invalid value" in done.stderr
        assert largest in done.stderr


def test_a_topic_that_refuses_writes_is_warned_of(cli: Cli, name: str) -> None:
    done = cli.run("topics", "create", name, "--config", "min.insync.replicas=2")
    assert done.returncode == 0
    assert done.stderr.decode() == (
        f"created topic {name}\n"
        "warning: brokers will refuse writes with acks=all: min.insync.replicas is 2, the topic "
        "has 1 replica\n"
    )
    cli.ok("topics", "delete", name)
