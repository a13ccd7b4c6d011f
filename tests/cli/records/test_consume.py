"""`barnabas consume`."""

import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.cli.conftest import Cli, interrupt
from tests.support.wait import LIMIT_S

NewTopic = Callable[..., str]
LINES = "".join(f"k{i}:{i}\n" for i in range(10))


def values(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.long
def test_where_to_start(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    everything = [str(i) for i in range(10)]
    for options, expected in (
        (["--no-follow"], everything),
        (["--no-follow", "--from-beginning"], everything),
        (["--no-follow", "--offset", "earliest"], everything),
        (["--no-follow", "--offset", "7"], ["7", "8", "9"]),
        (["--no-follow", "--offset", "-2"], ["8", "9"]),
        (["--no-follow", "--offset", "-99"], everything),
        (["--no-follow", "--offset", "99"], []),
        (["--no-follow", "--offset", "latest"], []),
        (["--no-follow", "--from-time", "10m ago"], everything),
        (["--no-follow", "--from-time", "2999-01-01"], []),
        (["--from-beginning", "--max-messages", "3"], ["0", "1", "2"]),
    ):
        assert values(cli.ok("consume", topic, *options)) == expected, options


def test_a_time_between_two_records(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines="a:1\n")
    time.sleep(0.01)
    between = int(time.time() * 1000)
    time.sleep(0.01)
    cli.ok("produce", topic, stdin="2\n")
    assert values(cli.ok("consume", topic, "--no-follow", "--from-time", str(between))) == ["2"]


@pytest.mark.long
def test_fields_and_templates(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, "--key-separator", ":", "--header", "h=1", stdin="k:v\n")
    cli.ok("produce", topic, stdin="w\n")

    def shown(*options: str) -> list[str]:
        return values(cli.ok("consume", topic, "--no-follow", *options))

    assert shown("--print", "topic,partition,offset,key,value,headers") == [
        f"{topic}\t0\t0\tk\tv\th=1",
        f"{topic}\t0\t1\tnull\tw\t",
    ]
    assert shown("--print", "key", "--null-marker", "(none)") == ["k", "(none)"]
    assert shown("--print", "time")[0].endswith("Z")
    for field in ("timestamp", "time", "key_size", "value_size", "headers"):
        assert shown("--print", field) == shown("--format", f"{{{field}}}"), field
    assert shown("--format", r"%t/%p@%o: %k -> %v\n") == [
        f"{topic}/0@0: k -> v",
        f"{topic}/0@1: null -> w",
    ]
    assert shown("--format", "{{{key}}} 100%% {value} %K%S %h") == [
        "{k} 100% v 11 h=1",
        "{null} 100% w -11 ",
    ]
    assert "%q" in cli.fails(2, "consume", topic, "--format", "%q")
    assert "{nope}" in cli.fails(2, "consume", topic, "--format", "{nope}")
    assert "unknown field 'nope'" in cli.fails(2, "consume", topic, "--print", "nope")


@pytest.mark.long
def test_deserializers(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, "--key", "12345678", stdin='{"a": [1, 2.5, "é"]}\n')

    def shown(key: str, value: str, *options: str) -> str:
        return cli.ok(
            *("consume", topic, "--no-follow", "--print", "key,value"),
            *("--key-deserializer", key, "--value-deserializer", value, *options),
        ).rstrip("\n")

    assert shown("string", "json") == '12345678\t{"a":[1,2.5,"é"]}'
    assert shown("long", "string") == f'{0x3132333435363738}\t{{"a": [1, 2.5, "é"]}}'
    assert shown("hex", "hex").startswith("3132333435363738\t7b2261")
    record = json.loads(shown("long", "json", "--json"))
    assert record["key"] == 0x3132333435363738
    assert record["value"] == {"a": [1, 2.5, "é"]}


def test_what_cannot_be_deserialized_is_named_after_what_came_before(
    cli: Cli, new_topic: NewTopic
) -> None:
    topic = new_topic()
    cli.ok("produce", topic, stdin="{}\nno json\n[]\n")
    done = cli.run("consume", topic, "--no-follow", "--value-deserializer", "json")
    assert done.returncode == 1
    assert done.stdout == b"{}\n"
    assert f"{topic}-0 at offset 1: not JSON".encode() in done.stderr


def test_bytes_that_are_no_text_are_shown_safely(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, stdin=b"ok \xff\xfe\n")
    assert cli.ok("consume", topic, "--no-follow") == "ok \\xff\\xfe\n"


def test_partitions_and_several_topics(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    other = f"{topic}-other"
    cli.ok("topics", "create", other)
    for partition in range(3):
        cli.ok("produce", topic, "--partition", str(partition), stdin=f"p{partition}\n")
    cli.ok("produce", other, stdin="other\n")
    assert sorted(values(cli.ok("consume", topic, other, "--no-follow"))) == [
        "other",
        "p0",
        "p1",
        "p2",
    ]
    only = cli.ok("consume", topic, "--no-follow", "-p", "0", "-p", "2")
    assert sorted(values(only)) == ["p0", "p2"]
    assert "has 3 partitions" in cli.fails(2, "consume", topic, "--partition", "3")


def test_following_shows_what_comes_and_ctrl_c_ends_it(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines="old:old\n")
    process = cli.start("consume", topic, "--from-beginning", real=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"old\n"
    cli.ok("produce", topic, stdin="new\n")
    assert process.stdout.readline() == b"new\n"
    assert interrupt(process) == (130, b"", b"")


def test_a_timeout_ends_it_and_missing_records_are_a_failure(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines="a:1\n")
    assert cli.ok("consume", topic, "--from-beginning", "--timeout", "0.3") == "1\n"
    done = cli.run("consume", topic, "--from-beginning", "--timeout", "0.3", "-n", "2")
    assert (done.returncode, done.stdout) == (1, b"1\n")
    assert b"only 1 of 2 records arrived in time" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    cli.ok("produce", topic, stdin="".join(f"{i:0100}\n" for i in range(20_000)))
    done = subprocess.run(
        f"{sys.executable} -m barnabas consume {topic} --from-beginning | head -n 1; "
        "echo ${PIPESTATUS[0]}",
        shell=True,
        executable="/bin/bash",
        env=cli.environment,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stdout.splitlines() == [b"0" * 100, b"0"]
    assert done.stderr == b""


def test_a_group_of_the_consumer_protocol_goes_on_where_it_was(
    cli: Cli, new_topic: NewTopic
) -> None:
    topic = new_topic(lines=LINES)
    group = ["--group", f"c-{topic}", "--group-protocol", "consumer", "--from-beginning"]
    first = values(cli.ok("consume", topic, *group, "--max-messages", "4"))
    rest = values(cli.ok("consume", topic, *group, "--max-messages", "6"))
    assert sorted(first + rest) == [str(i) for i in range(10)]
    (listed,) = cli.json("groups", "describe", f"c-{topic}")
    assert listed["type"] == "consumer"


def test_a_share_group_accepts_what_was_printed(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    share = ["--share", topic, "--from-beginning"]
    first = values(cli.ok("consume", topic, *share, "--max-messages", "4"))
    rest = values(cli.ok("consume", topic, *share, "--max-messages", "6"))
    assert sorted(first + rest) == [str(i) for i in range(10)]
    assert values(cli.ok("consume", topic, *share, "--timeout", "1")) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--from-beginning", "--offset", "1"],
        ["--offset", "x"],
        ["--from-time", "yesterday"],
        ["--group", "g", "--offset", "1"],
        ["--group", "g", "--partition", "0"],
        ["--share", "s", "--group", "g"],
        ["--share", "s", "--partition", "0"],
        ["--share", "s", "--no-follow"],
    ],
)
def test_options_that_make_no_sense(cli: Cli, new_topic: NewTopic, options: list[str]) -> None:
    cli.fails(2, "consume", new_topic(), *options)


def test_an_unknown_topic(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic()
    typo = f"{topic[:-1]}_"
    for options in ([], ["--group", "g"]):
        error = cli.fails(1, "consume", typo, *options)
        assert f"topic {typo} does not exist; did you mean {topic}?" in error


def test_what_can_not_be_decoded_is_skipped_if_asked(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines='k:1\nk:{"a"\nk:2\n')
    arguments = ("consume", topic, "--no-follow", "--value-deserializer", "json")
    refused = cli.run(*arguments)
    assert (refused.returncode, refused.stdout) == (1, b"1\n")
    assert b"--skip-undecodable" in refused.stderr
    done = cli.run(*arguments, "--skip-undecodable")
    assert (done.returncode, done.stdout) == (0, b"1\n2\n")
    assert done.stderr.startswith(f"skipped {topic}-0 at offset 1: not JSON".encode())
    group = ("--group", topic, "--from-beginning", "-n", "2")
    assert cli.ok(*(arguments[:2] + arguments[3:]), "--skip-undecodable", *group) == "1\n2\n"


@pytest.mark.long
def test_topics_by_a_pattern(cli: Cli, new_topic: NewTopic) -> None:
    first = new_topic(lines="k:1\n")
    second = f"{first}-too"
    cli.ok("produce", second, "--create", stdin="2\n")
    pattern = f"{first}|{second}"
    read = ("consume", "--pattern", pattern, "--no-follow")
    assert sorted(values(cli.ok(*read))) == ["1", "2"]
    assert sorted(values(cli.ok(*read, "--group", first, "--from-beginning"))) == ["1", "2"]
    assert "no topic matches" in cli.fails(1, "consume", "--pattern", "none-.*")
    assert "--pattern (" in cli.fails(2, "consume", "--pattern", "(")
    assert "--pattern REGEX" in cli.fails(2, "consume")
