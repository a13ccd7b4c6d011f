"""Commands that run while their broker is killed and comes back."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Cli, interrupt
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture
def own(broker: BrokerProcess) -> Iterator[Cli]:
    command = Cli(broker.bootstrap)
    yield command
    command.end()


def first_occurrences(values: list[int]) -> list[int]:
    return list(dict.fromkeys(values))


@pytest.mark.long
def test_everything_produced_across_a_kill_arrives_in_order(
    broker: BrokerProcess, own: Cli
) -> None:
    own.ok("topics", "create", "t")
    producer = own.start("produce", "t", stdin=subprocess.PIPE)
    follower = own.start("consume", "t", "--from-beginning", "-n", "6000")
    member = own.start("consume", "t", "--group", "g", "--from-beginning", "--print", "offset")
    assert producer.stdin is not None
    assert follower.stdout is not None
    assert member.stdout is not None
    followed, read = b"", b""
    for part in range(3):
        lines = range(part * 2_000, (part + 1) * 2_000)
        producer.stdin.write(b"".join(b"%d\n" % i for i in lines))
        producer.stdin.flush()
        if part == 0:  # a command that has not reached its broker yet would rightly give up
            followed = follower.stdout.readline()
            read = member.stdout.readline()
        if part < 2:
            broker.restart(kill=True)
    producer.stdin.close()
    assert producer.wait(LIMIT_S) == 0

    stored = [int(line) for line in own.ok("consume", "t", "--no-follow").split()]
    assert first_occurrences(stored) == list(range(6_000))

    out, error = follower.communicate(timeout=LIMIT_S)
    assert follower.returncode == 0, error
    assert [int(line) for line in (followed + out).split()] == stored[:6_000]

    wait_until(
        lambda: (
            own.json("groups", "describe", "g")[0]["offsets"]
            and own.json("groups", "describe", "g")[0]["offsets"][0]["lag"] == 0
        ),
        "the group does not catch up",
    )
    code, out, error = interrupt(member)
    assert code == 130, error
    offsets = [int(line) for line in (read + out).split()]
    assert first_occurrences(offsets) == list(range(len(stored)))


def test_a_broker_that_stays_away_is_reported_with_what_was_lost(
    broker: BrokerProcess, own: Cli
) -> None:
    own.ok("topics", "create", "t")
    producer = own.start("produce", "t", "--timeout", "1", "--json", stdin=subprocess.PIPE)
    assert producer.stdin is not None
    producer.stdin.write(b'{"value": "1"}\n')
    producer.stdin.flush()
    wait_until(lambda: own.ok("consume", "t", "--no-follow") == "1\n", "nothing is delivered")
    broker.kill()
    out, error = producer.communicate(b'{"value": "2"}\n{"value": "3"}\n', timeout=LIMIT_S)
    assert producer.returncode == 1
    assert json.loads(out) == {"topic": "t", "delivered": 1, "failed": 2, "partitions": [0]}
    assert b"2 of 3 records were not delivered" in error
