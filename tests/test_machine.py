"""Tests see a bare machine, and CI runs all of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.documents import ROOT, Step, run
from tests.support.machine import OPTIONAL, find_tool, missing

SKIPPED = """
import os, pytest

def test_expected():
    pytest.skip("this library does not offer: {}")

def test_unexpected():
    pytest.skip("kcat is not installed")

@pytest.mark.skipif(True, reason="takes root")
def test_by_a_mark():
    pass

@pytest.mark.xfail(strict=True)
def test_a_known_defect():
    assert False

def test_what_is_set_by_hand():
    assert "PYTHONUNBUFFERED" not in os.environ
    assert "JAVA_HOME" not in os.environ
"""


def test_what_is_installed_by_hand_is_not_found() -> None:
    for name in (*OPTIONAL, "make", "git", "java", "pip3.99"):
        assert shutil.which(name) is None
    assert shutil.which("barnabas") == f"{Path(sys.executable).parent}/barnabas"
    assert shutil.which("bash")


def test_a_snippet_finds_the_programs_that_it_names_and_no_other(tmp_path: Path) -> None:
    if find_tool("ip") is None:
        pytest.skip(missing("ip"))
    run(Step("console", "ip -V"), "", tmp_path)
    run(Step("console", "true | ip -V"), "", tmp_path)
    for unnamed in ("echo -V | xargs ip", "make --version"):
        with pytest.raises(AssertionError, match=r"not found|No such file"):
            run(Step("console", unnamed), "", tmp_path)


def nested(tmp_path: Path, **variables: str) -> tuple[int, str]:
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_TOOLS")}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-rA", "-c", str(ROOT / "pyproject.toml"), str(tmp_path)],
        env=kept | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_in_ci_only_expected_skips_are_skips(tmp_path: Path) -> None:
    set_by_hand = {"PYTHONUNBUFFERED": "1", "JAVA_HOME": "/java"}
    code, said = nested(tmp_path, CI="true", **set_by_hand)
    assert code == 1
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in said
    assert "which CI must not do: kcat is not installed" in said
    assert "which CI must not do: takes root" in said
    code, said = nested(tmp_path, **set_by_hand)
    assert code == 0, said
    assert "1 passed, 3 skipped, 1 xfailed" in said


def test_ci_installs_what_tests_are_skipped_without() -> None:
    (line,) = (
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line.startswith("packages=")
    )
    assert sorted(line.partition("=")[2].strip("()").split()) == sorted(set(OPTIONAL.values()))
