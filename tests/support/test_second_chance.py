"""Tests of starved machines are run again, others are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.documents import ROOT

TESTS = """
import pytest

calls = []

@pytest.fixture(scope="session")
def shared():
    calls.append("shared")

@pytest.fixture
def own(shared):
    calls.append("own")

def test_fails_once(own):
    assert calls.count("own") == 2, "only the second time"
    assert calls.count("shared") == 2, "nothing is left of the first time"

def test_fails(own):
    assert False

def test_passes(own):
    assert calls.count("own") > 2
"""

PLUGIN = """
from tests.support.second_chance import SecondChance, Starvation

class Pretended(Starvation):
    def was_felt(self):
        return {felt}

def pytest_configure(config):
    config.pluginmanager.register(SecondChance(Pretended))
"""

PYTEST = [sys.executable, "-m", "pytest", "-c", "/dev/null", "-p", "no:cacheprovider", "-rA"]


@pytest.mark.parametrize("felt", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_only_on_a_starved_machine(tmp_path: Path, felt: bool, workers: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(PLUGIN.format(felt=felt))
    done = subprocess.run(
        [*PYTEST, f"-n{workers}", "--timeout=60", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout
    assert done.returncode == 1, said
    assert ("1 failed, 2 passed" if felt else "2 failed, 1 passed") in said, said
    listed = "test_fails_once: E AssertionError: only the second time"
    assert (listed in said) == felt, said
    assert said.count("test_some.py::test_fails:") == felt, said
