"""Work in a process of its own: what it answers, and that it never outlives its use."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from barnabas.broker.runtime.child_process import ChildProcess
from tests.support.processes import command_line
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    executor = ChildProcess()
    yield executor
    executor.shutdown()


def children() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children()
        if "barnabas.log.compaction.child" in command_line(process)
    ]


def test_it_runs_elsewhere_and_makes_way(child: ChildProcess) -> None:
    assert children() == [], "it is started when it is needed"
    pid = child.submit(os.getpid).result(LIMIT_S)
    assert pid != os.getpid()
    assert psutil.Process(pid).nice() == 19
    assert child.submit(max, [1, 3, 2], key=abs).result(LIMIT_S) == 3
    assert child.submit(os.getpid).result(LIMIT_S) == pid, "it stays for what comes next"


def test_calls_are_answered_in_their_order(child: ChildProcess) -> None:
    futures = [child.submit(bytes, number * 100_000) for number in range(5)]
    assert [len(future.result(LIMIT_S)) for future in futures] == [
        0,
        100_000,
        200_000,
        300_000,
        400_000,
    ]


def test_it_ends_when_it_is_idle() -> None:
    child = ChildProcess(idle_s=0.2)
    try:
        first = child.submit(os.getpid).result(LIMIT_S)
        wait_until(lambda: not psutil.pid_exists(first) or _is_dead(first), "it stays")
        assert child.submit(os.getpid).result(LIMIT_S) != first
    finally:
        child.shutdown()


@pytest.mark.long
def test_it_is_asked_just_when_it_goes() -> None:
    """Whatever the timing is, there is an answer."""
    child = ChildProcess(idle_s=0.05)
    try:
        for number in range(4):
            time.sleep(0.05 + number * 0.004)
            assert child.submit(abs, -number).result(LIMIT_S) == number
    finally:
        child.shutdown()


def test_what_raises_fails_alone(child: ChildProcess) -> None:
    with pytest.raises(ChildProcessError, match="ended with exit code 1"):
        child.submit(int, "no number").result(LIMIT_S)
    assert child.submit(int, "7").result(LIMIT_S) == 7


def test_one_that_is_killed_is_replaced(child: ChildProcess) -> None:
    future = child.submit(time.sleep, 600)
    wait_until(lambda: len(children()) == 1, "it does not start")
    children()[0].kill()
    with pytest.raises(ChildProcessError, match="ended with exit code -9"):
        future.result(LIMIT_S)
    assert child.submit(abs, -1).result(LIMIT_S) == 1


def test_the_end_does_not_wait_for_work_under_way() -> None:
    child = ChildProcess()
    futures = [child.submit(time.sleep, 600), child.submit(time.sleep, 600)]
    wait_until(lambda: len(children()) == 1, "it does not start")
    child.shutdown()
    assert children() == []
    assert futures[0].exception() is not None
    assert futures[1].cancelled()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_its_parent_in_the_middle_of_its_work(number: int) -> None:
    program = (
        "import os, time\n"
        "from barnabas.broker.runtime.child_process import ChildProcess\n"
        "child = ChildProcess()\n"
        "print(child.submit(os.getpid).result(), flush=True)\n"
        "child.submit(time.sleep, 600).result()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.stdout.close()
    time.sleep(0.1)
    assert psutil.pid_exists(pid)
    parent.send_signal(number)
    parent.wait(LIMIT_S)
    wait_until(lambda: not psutil.pid_exists(pid) or _is_dead(pid), "it lives on")


def test_it_ends_without_a_word_when_nobody_is_left_to_hear_its_answer() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "barnabas.log.compaction.child", "60"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        child.stdout.close()
        child.stdin.write(pickle.dumps((abs, (-1,), {})))
        child.stdin.flush()
        assert child.stderr.read() == b""
    assert child.returncode == 0


def _is_dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
