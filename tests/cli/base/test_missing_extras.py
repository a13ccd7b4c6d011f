"""A command whose extra is not installed names the command that installs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wait import LIMIT_S

_HIDE = """
import sys
for name in ("pyspark", "starlette", "uvicorn", "cryptography", "pyarrow", "jwt", "duckdb"):
    sys.modules[name] = None
from barnabas.cli.app import main
main()
"""


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["server", "--console", "--data", "data"], "console"),
        (["server", "--secure", "--data", "data"], "security"),
        (["security", "init", "files", "--node", "1=localhost"], "security"),
        (["console"], "console"),
        (["pipeline", "list", "."], "spark"),
        (["pipeline", "run", "query.sql"], "spark"),
        (["connect", "run"], "spark"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else value,
)
def test_it_is_named(tmp_path: Path, command: list[str], extra: str) -> None:
    (tmp_path / "query.sql").write_text("SELECT 1")
    (tmp_path / "pipelines").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _HIDE, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.rstrip().endswith(f"pip install 'barnabas[{extra}]'")
