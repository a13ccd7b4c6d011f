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
from examples.demo.nodes import same_copies
from examples.demo.pauses import Kill, check_pauses, pause_s

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


def wait_for_processes(demo: "subprocess.Popen[str]", *programs: str) -> list[psutil.Process]:
    """Everything that the demo has started, once all of these programs are running."""
    deadline = time.monotonic() + 60
    while True:
        children = psutil.Process(demo.pid).children(recursive=True)
        lines = [line_of(child) for child in children]
        if all(any(program in line for line in lines) for program in programs):
            return children
        assert time.monotonic() < deadline, f"only {lines}"
        assert demo.poll() is None
        time.sleep(0.05)


def line_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""


def still_there(processes: list[psutil.Process]) -> list[psutil.Process]:
    """A zombie is gone; its parent, or the system, has only not looked yet."""
    _, alive = psutil.wait_procs(processes, timeout=1)
    return [each for each in alive if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    demo = start(tmp_path, "--seconds", "5", "--rate", "300")
    output, _ = demo.communicate(timeout=170)
    assert demo.returncode == 0, output
    assert "kill -9 of node" in output
    assert "every replica is in sync" in output
    assert "offers-2 reads" in output
    assert output.count("kill -9 of the counter, in mid-transaction") == 2
    assert "2 abandoned; 0 torn" in output
    assert "All promises kept." in output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]],
    ids=["SIGINT", "SIGTERM", "twice"],
)
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, numbers: list[int]) -> None:
    demo = start(tmp_path, "--seconds", "60", "--rate", "100")
    children = wait_for_processes(
        demo, "node.id=3", "demo.producer", "demo.consumer", "demo.counter", "consume"
    )
    for number in numbers:
        time.sleep(0.5)
        demo.send_signal(number)
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, output
    assert not still_there(children)
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_dies_fails_the_demo(tmp_path: Path) -> None:
    demo = start(tmp_path, "--seconds", "60", "--rate", "100")
    children = wait_for_processes(demo, "node.id=3", "demo.producer")
    (supervisor,) = [child for child in children if "--nodes" in line_of(child)]
    supervisor.kill()
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 1, output
    assert "error: " in output
    assert not still_there(children)
    assert not list(tmp_path.iterdir())


# -- the ledger ----------------------------------------------------------------------------------


def row(partition: int, offset: int, user: str = "ada", click: int = -1) -> dict[str, Any]:
    value = {"page": "/", "click": offset if click < 0 else click}
    return {"partition": partition, "offset": offset, "key": user, "value": value, "at": 0.0}


def honest_ledger() -> tuple[Ledger, Reader, Reader, Reader]:
    ledger = Ledger()
    one, two = Reader("q-1", "q", "any"), Reader("q-2", "q", "any")
    copy = Reader("c-1", "c", "any")
    ledger.readers = {reader.name: reader for reader in (one, two, copy)}
    for offset in range(10):
        for partition, user, reader in ((0, "ada", one), (1, "bob", two)):
            sent = row(partition, offset, user)
            ledger.produced(sent)
            ledger.handled(reader, sent)
            ledger.handled(copy, sent)
    ledger.produced({"sent": 20})
    return ledger, one, two, copy


def broken(ledger: Ledger, in_topic: int = 20) -> list[str]:
    return [check.promise for check in ledger.checks("q", "c", in_topic) if not check.kept]


def test_an_honest_ledger_breaks_no_promise() -> None:
    assert broken(honest_ledger()[0]) == []


def lose(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    copy.seen.pop()


def refuse(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    ledger.produced({"sent": 21})


def store_twice(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    copy.seen[-1] = (copy.seen[-1][0], copy.seen[-3][1])


def swap(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    one.seen[3], one.seen[4] = one.seen[4], one.seen[3]


def alter(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    copy.seen[-1] = (copy.seen[-1][0], copy.seen[-1][1]._replace(page="/other"))


def idle(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    one.seen += two.seen
    two.seen.clear()


def scatter(ledger: Ledger, one: Reader, two: Reader, copy: Reader) -> None:
    sent = row(1, 10, "ada", click=10)
    ledger.produced(sent)
    ledger.handled(one, sent)
    ledger.handled(copy, sent)


@pytest.mark.parametrize(
    ("wrong", "promises"),
    [
        (lose, ["publish-subscribe"]),
        (refuse, ["acks=all", "idempotence"]),
        (store_twice, ["idempotence", "publish-subscribe", "order"]),
        (swap, ["order"]),
        (alter, ["publish-subscribe"]),
        (idle, ["queue"]),
        (scatter, ["acks=all", "keys"]),
    ],
)
def test_a_broken_promise_is_noticed(wrong: Callable[..., None], promises: list[str]) -> None:
    ledger, *readers = honest_ledger()
    wrong(ledger, *readers)
    assert [promise.split(":")[0] for promise in broken(ledger)] == promises


def test_a_record_more_or_less_in_the_topic_is_noticed() -> None:
    ledger, *_ = honest_ledger()
    for in_topic in (19, 21):
        assert [each.split(":")[0] for each in broken(ledger, in_topic)] == ["idempotence"]


def test_at_least_once_allows_to_handle_a_record_again_and_says_so() -> None:
    ledger, one, two, _ = honest_ledger()
    ledger.handled(two, row(0, 9, "ada"))
    ledger.handled(one, row(0, 8, "ada"))
    assert broken(ledger) == []
    evidence = [check.evidence for check in ledger.checks("q", "c", 20)]
    assert any("2 handled again, as at-least-once allows" in each for each in evidence)


# -- pauses --------------------------------------------------------------------------------------


def test_a_pause_is_the_longest_gap_of_any_partition_after_the_kill() -> None:
    steady = [number / 10 for number in range(100)]
    paused = [t for t in steady if not 5.05 < t < 5.75]
    early = [t for t in steady if not 1.05 < t < 3.05]
    times = {0: steady, 1: paused, 2: early}
    assert pause_s(times, 5.0, 9.0) == pytest.approx(0.8)
    assert pause_s(times, 6.0, 9.0) == pytest.approx(0.1)
    kept = check_pauses([Kill(1, "a leader", 5.0), Kill(2, "the controller", 7.0)], times)
    assert kept.kept
    assert kept.evidence == "longest pause 0.80 s after a leader, 0.10 s after the controller"


def test_writes_that_never_went_on_break_a_promise() -> None:
    kill = Kill(1, "a leader", 5.0)
    assert not check_pauses([kill], {0: [1.0, 9.0], 1: [1.0, 4.9]}).kept
    assert not check_pauses([kill], {}).kept
    assert not check_pauses([], {0: [1.0]}).kept


# -- replicas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copies", "kept"),
    [
        ([b"abc", b"abc", b"abc"], True),
        ([b"abc", b"abc", b"abd"], False),
        ([b"abc", b"abc"], False),
        ([b"", b"", b""], False),
    ],
)
def test_copies_are_compared_byte_by_byte(tmp_path: Path, copies: list[bytes], kept: bool) -> None:
    for number, copy in enumerate(copies, 1):
        directory = tmp_path / f"node-{number}" / "views-0"
        directory.mkdir(parents=True)
        (directory / "00000000000000000000.log").write_bytes(copy)
    assert same_copies(tmp_path, {"views": 1}).kept is kept
