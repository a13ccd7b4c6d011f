"""mypy --strict and pyright find each mistake in wrong_uses.py, and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

WRONG = Path(__file__).with_name("wrong_uses.py")
ROOT = Path(__file__).parents[3]


def marked() -> list[int]:
    lines = WRONG.read_text().splitlines()
    return [at for at, line in enumerate(lines, 1) if line.endswith("# wrong")]


def found_by(command: list[str]) -> list[int]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = re.findall(r"wrong_uses\.py:(\d+)(?::\d+ -|:) error", done.stdout)
    assert found, done.stdout + done.stderr
    return sorted(set(map(int, found)))


def test_mypy(tmp_path: Path) -> None:
    cache = f"--cache-dir={tmp_path}"
    options = ["--strict", "--config-file=", "--no-incremental", cache]
    assert found_by([sys.executable, "-m", "mypy", *options, str(WRONG)]) == marked()


def test_pyright() -> None:
    pytest.importorskip("basedpyright")
    pyright = Path(sys.executable).with_name("basedpyright")
    assert found_by([str(pyright), "--level", "error", str(WRONG)]) == marked()
