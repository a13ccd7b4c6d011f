"""The example of a tested application, and what docs/testing.md says, hold."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wait import LIMIT_S

ROOT = Path(__file__).parents[2]


def _pytest(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_tested_application() -> None:
    assert "3 passed" in _pytest("examples/testing", cwd=ROOT)


def test_the_tests_in_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "testing.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    tests = [block for block in blocks if "def test_" in block]
    assert len(tests) >= 4
    for number, block in enumerate(tests):
        (tmp_path / f"test_{number}.py").write_text(block)
    assert "passed" in _pytest(cwd=tmp_path)
