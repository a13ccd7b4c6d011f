"""`barnabas transactions`, `produce --transactional-id` and `consume --isolation`."""

import subprocess
from collections.abc import Callable

import pytest

from barnabas.cli.admin.transactions import _print_transaction
from barnabas.client.admin.transactions import TransactionDescription
from tests.cli.conftest import Cli, committed, interrupt
from tests.support.wait import LIMIT_S, wait_until

NewTopic = Callable[..., str]


@pytest.fixture
def topic(new_topic: NewTopic) -> str:
    return new_topic(2)


@pytest.fixture
def transactional_id(name: str) -> str:
    return f"id-{name}"


@pytest.fixture
def open_transaction(cli: Cli, topic: str, transactional_id: str) -> "subprocess.Popen[bytes]":
    """A producer in the middle of a transaction, with one record in partition 1."""
    process = cli.start(
        *("produce", topic, "--partition", "1", "--transactional-id", transactional_id),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"one\n")
    everything = ("consume", topic, "--no-follow", "--isolation", "read_uncommitted")
    wait_until(lambda: "one" in cli.ok(*everything), "nothing was sent")
    return process


def committed_lines(cli: Cli, topic: str, *options: str) -> list[str]:
    return cli.ok("consume", topic, "--no-follow", *options).split()


def wait_for_committed(cli: Cli, topic: str, *lines: str) -> None:
    """Markers may come a moment after the commit is confirmed."""
    wait_until(lambda: committed_lines(cli, topic) == [*lines], f"{lines} are not committed")


def end(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Let its input end."""
    _, error = process.communicate(timeout=LIMIT_S)
    return process.returncode, error.decode()


@pytest.mark.long
def test_lines_are_seen_when_the_last_one_is_sent(
    cli: Cli, topic: str, transactional_id: str, open_transaction: "subprocess.Popen[bytes]"
) -> None:
    assert committed_lines(cli, topic) == []
    assert end(open_transaction) == (0, f"sent 1 record to {topic}, partition 1\n")
    wait_for_committed(cli, topic, "one")
    (described,) = cli.json("transactions", "describe", transactional_id)
    assert described["state"].endswith("Commit")


@pytest.mark.long
def test_an_interrupted_producer_leaves_nothing(
    cli: Cli, topic: str, open_transaction: "subprocess.Popen[bytes]"
) -> None:
    assert interrupt(open_transaction) == (130, b"", b"rolled back the transaction\n")
    assert committed_lines(cli, topic) == []
    assert cli.ok("consume", topic, "--no-follow").split() == []
    everything = ("--isolation", "read_uncommitted")
    assert cli.ok("consume", topic, "--no-follow", *everything).split() == ["one"]
    cli.ok("produce", topic, stdin="two\n")
    wait_for_committed(cli, topic, "two")


def test_a_line_that_is_wrong_takes_all_others_with_it(
    cli: Cli, topic: str, transactional_id: str
) -> None:
    options = ("--transactional-id", transactional_id, "--key-separator", ":")
    error = cli.fails(1, "produce", topic, *options, stdin="k:v\nnonsense\n")
    assert "line 2" in error
    assert "nothing was sent" in error
    assert committed_lines(cli, topic) == []


def test_acknowledgements_of_all_are_needed(cli: Cli, topic: str) -> None:
    error = cli.fails(2, "produce", topic, "--transactional-id", "x", "--acks", "1", stdin="a\n")
    assert "acks=1" in error


def test_a_group_commits_behind_the_marker(cli: Cli, topic: str, transactional_id: str) -> None:
    options = ("--transactional-id", transactional_id, "--partition", "0")
    cli.ok("produce", topic, *options, stdin="a\nb\n")
    wait_for_committed(cli, topic, "a", "b")
    group = f"g-{topic}"
    assert committed_lines(cli, topic, "--group", group, "--from-beginning") == ["a", "b"]
    assert committed(cli, group)[0] == 3


def test_an_open_transaction_is_listed_and_described(
    cli: Cli, topic: str, transactional_id: str, open_transaction: "subprocess.Popen[bytes]"
) -> None:
    (described,) = cli.json("transactions", "describe", transactional_id)
    assert described["state"] == "Ongoing"
    assert described["partitions"] == [[topic, 1]]
    assert described["timeout_ms"] == 60_000
    producer_id = described["producer_id"]
    row = {
        "transactional_id": transactional_id,
        "producer_id": producer_id,
        "state": "Ongoing",
        "coordinator": 1,
    }
    assert row in cli.json("transactions", "list")
    assert row in cli.json("transactions", "list", "--state", "Ongoing", "--older-than", "0s")
    assert cli.json("transactions", "list", "--producer-id", str(producer_id)) == [row]
    assert row not in cli.json("transactions", "list", "--older-than", "1h")
    assert row not in cli.json("transactions", "list", "--state", "Empty")
    (producer,) = cli.json("transactions", "producers", f"{topic}:1")
    assert producer["producer_id"] == producer_id
    assert producer["transaction_start_offset"] == 0
    text = cli.ok("transactions", "describe", transactional_id)
    assert f"transactional id {transactional_id}: Ongoing for " in text
    assert "timeout 60 s" in text
    assert transactional_id in cli.ok("transactions", "list")
    assert str(producer_id) in cli.ok("transactions", "producers", topic)


def test_a_transaction_that_waits_for_a_decision_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waiting = TransactionDescription("pay-1", "Ongoing", 7, 3, 2**31 - 1, 1_000, [])
    _print_transaction(waiting, 91_000)
    assert capsys.readouterr().out == (
        "transactional id pay-1: Ongoing for 90.0 s, no timeout, producer 7 epoch 3\n"
    )


def test_a_producer_is_fenced(
    cli: Cli, topic: str, transactional_id: str, open_transaction: "subprocess.Popen[bytes]"
) -> None:
    (fenced,) = cli.json("transactions", "fence", transactional_id)
    assert fenced["transactional_id"] == transactional_id
    code, error = end(open_transaction)
    assert code == 1
    assert "another producer has taken it over" in error
    assert committed_lines(cli, topic) == []


@pytest.mark.long
def test_only_what_hangs_is_aborted_by_hand(
    cli: Cli, topic: str, transactional_id: str, open_transaction: "subprocess.Popen[bytes]"
) -> None:
    assert cli.json("transactions", "find-hanging", topic, "--older-than", "0s") == []
    assert cli.ok("transactions", "find-hanging").startswith("TOPIC")
    abort = ("transactions", "abort", f"{topic}:1", "--start-offset")
    assert "no open transaction starts at offset 5" in cli.fails(1, *abort, "5")
    error = cli.fails(1, *abort, "0")
    assert "does not hang" in error
    assert f"transactions fence {transactional_id}" in error
    assert "INVALID_TXN_STATE" in cli.fails(1, *abort, "0", "--force"), "the broker looks too"
    (producer,) = cli.json("transactions", "producers", f"{topic}:1")
    assert producer["transaction_start_offset"] == 0
    interrupt(open_transaction)


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("describe", "no-such-id"), 1, "barnabas transactions list"),
        (("fence", "no-such-id"), 1, "TRANSACTIONAL_ID_NOT_FOUND"),
        (("list", "--state", "Sleeping"), 2, "Sleeping"),
        (("list", "--older-than", "long"), 2, "invalid duration 'long'"),
        (("list", "--older-than", "1h ago"), 2, "invalid duration '1h ago'"),
        (("producers", "no-such-topic"), 1, "it does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_wrong_is_said(
    cli: Cli, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    assert reason in cli.fails(code, "transactions", *arguments)


def test_abort_wants_one_partition(cli: Cli, topic: str) -> None:
    error = cli.fails(2, "transactions", "abort", topic, "--start-offset", "0")
    assert f"such as {topic}:0" in error
