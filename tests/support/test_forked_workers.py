"""Workers that are forks of one process run tests as others do, and leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.wait import LIMIT_S, wait_until

_TESTS = """
import os, signal, subprocess, threading

def test_it_can_start_processes_and_hear_of_their_end():
    assert subprocess.run(["true"]).returncode == 0

def test_it_is_interrupted_as_others_are():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

def test_it_crashes():
    os.kill(os.getpid(), signal.SIGKILL)

def test_another_one_goes_on():
    assert threading.main_thread() is threading.current_thread()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With tests, and the settings of ours."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_it.py").write_text(_TESTS)
    return tmp_path


def test_tests_pass_and_who_crashes_is_replaced(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--workers", "2", "--dist", "load", "--rootdir"]
    running = subprocess.Popen(
        [*command, str(folder), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 1, printed
    assert "1 failed, 3 passed" in printed
    assert "test_it_crashes" in printed

    def are_gone() -> bool:
        return not any(str(folder) in " ".join(each.info["cmdline"] or ()) for each in processes())

    wait_until(are_gone, "processes are left")


def processes() -> list[psutil.Process]:
    return list(psutil.process_iter(["cmdline"]))
