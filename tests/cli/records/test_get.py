"""`barnabas get`: the current value of a key."""

from collections.abc import Callable

from tests.cli.conftest import Cli

NewTopic = Callable[..., str]


def test_the_last_value_of_a_key(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines="apple:1\npear:2\napple:3\n")
    assert cli.ok("get", topic, "apple") == "3\n"
    found = cli.json("get", topic, "pear")
    assert (found["key"], found["value"], found["offset"]) == ("pear", "2", 1)
    cli.ok("produce", topic, "--json", stdin='{"key": "apple", "value": null}\n')
    assert "no value for key apple" in cli.run("get", topic, "apple").stderr.decode()
    for key in ("apple", "plum"):
        assert cli.run("get", topic, key).returncode == 1
    assert "17" in cli.fails(2, "get", topic, "x17", "--key-deserializer", "long")


def test_a_topic_that_does_not_exist(cli: Cli) -> None:
    assert "no-such-topic" in cli.fails(1, "get", "no-such-topic", "key")
