"""The demo runs, leaves nothing behind, and notices when a promise is broken."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from examples.demo.ledger import Ledger, Reader

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.demo", "--plain"]


def start(tmp_path: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_children(demo: "subprocess.Popen[str]", count: int) -> list[psutil.Process]:
    deadline = time.monotonic() + 30
    while len(children := psutil.Process(demo.pid).children(recursive=True)) < count:
        assert time.monotonic() < deadline, f"only {children}"
        time.sleep(0.05)
    return children


def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    demo = start(tmp_path, "--seconds", "6", "--rate", "300")
    output, _ = demo.communicate(timeout=90)
    assert demo.returncode == 0, output
    assert "offers-2 reads" in output
    assert "1,800 of 1,800" in output
    assert "All promises kept." in output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    demo = start(tmp_path, "--seconds", "60", "--rate", "100")
    children = wait_for_children(demo, 4)
    time.sleep(1)
    demo.send_signal(number)
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, output
    assert not [child for child in children if child.is_running()]
    assert not list(tmp_path.iterdir())


def test_a_broker_that_dies_fails_the_demo(tmp_path: Path) -> None:
    demo = start(tmp_path, "--seconds", "60", "--rate", "100")
    children = wait_for_children(demo, 4)
    (broker,) = [child for child in children if "server" in child.cmdline()]
    broker.kill()
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 1, output
    assert "error: " in output
    assert not [child for child in children if child.is_running()]
    assert not list(tmp_path.iterdir())


# -- the ledger ----------------------------------------------------------------------------------


def row(partition: int, offset: int, user: str = "ada", click: int = -1) -> dict[str, Any]:
    value = {"page": "/", "click": offset if click < 0 else click}
    return {"partition": partition, "offset": offset, "key": user, "value": value}


def honest_ledger() -> tuple[Ledger, Reader, Reader, Reader]:
    ledger = Ledger()
    one, two = Reader("q-1", "q", "any"), Reader("q-2", "q", "any")
    copy = Reader("c-1", "c", "any")
    ledger.readers = {reader.name: reader for reader in (one, two, copy)}
    for offset in range(10):
        for partition, user, reader in ((0, "ada", one), (1, "bob", two)):
            sent = row(partition, offset, user)
            ledger.sent(sent)
            ledger.handled(reader, sent)
            ledger.handled(copy, sent)
    return ledger, one, two, copy


def broken(ledger: Ledger) -> list[str]:
    return [check.promise for check in ledger.checks("q", "c", 20) if not check.kept]


def test_an_honest_ledger_breaks_no_promise() -> None:
    assert broken(honest_ledger()[0]) == []


def lose(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    copy.seen.pop()


def repeat(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    ledger.handled(two, row(0, 9, "ada"))


def swap(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    one.seen[3], one.seen[4] = one.seen[4], one.seen[3]


def alter(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    copy.seen[-1] = (copy.seen[-1][0], copy.seen[-1][1]._replace(page="/other"))


def idle(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    one.seen += two.seen
    two.seen.clear()


def scatter(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    sent = row(1, 10, "ada", click=10)
    ledger.sent(sent)
    ledger.handled(one, sent)
    ledger.handled(copy, sent)


@pytest.mark.parametrize(
    ("wrong", "promises"),
    [
        (lose, ["publish-subscribe"]),
        (repeat, ["queue"]),
        (swap, ["order"]),
        (alter, ["publish-subscribe"]),
        (idle, ["queue"]),
        (scatter, ["every record sent is acknowledged and stored", "keys"]),
    ],
)
def test_a_broken_promise_is_noticed(wrong: Callable[..., None], promises: list[str]) -> None:
    ledger, *readers = honest_ledger()
    wrong(ledger, *readers)
    assert [promise.split(":")[0] for promise in broken(ledger)] == promises
