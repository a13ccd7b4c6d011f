"""Finds the tests of pipelines, and runs them with pytest."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from barnabas.cli.base.command import CommandError, UsageError

_NO_TESTS = 5  # pytest's code for it
_END_TIMEOUT_S = 10


def run_with_pytest(path: Path, keyword: str | None, *, verbose: bool) -> int:
    """Run them with pytest; returns its exit code.

    It runs in a separate process: in this one, pytest could not rewrite the assertions of modules
    that are already loaded.
    """
    if find_spec("pytest") is None:
        raise CommandError("pipeline tests need pytest: pip install pytest")
    files = tests_of(path)
    if not files:
        raise CommandError(
            f"no tests of {path}: write some in test_{path.stem}.py next to it "
            "(docs/pipelines.md shows how)"
        )
    arguments = [*map(str, files), "--import-mode=prepend"]
    arguments += ["-v"] if verbose else ["-q"]
    arguments += [] if keyword is None else ["-k", keyword]
    code = _wait_for([sys.executable, "-m", "pytest", *arguments])
    if code == _NO_TESTS:
        raise CommandError(f"no test was found for {path}")
    return code


def _wait_for(command: list[str]) -> int:
    with subprocess.Popen(command) as process:  # noqa: S603 - ourselves
        try:
            return process.wait()
        except KeyboardInterrupt:  # on a terminal, Ctrl-C reaches pytest too
            try:
                process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.terminate()
            raise


def tests_of(path: Path) -> list[Path]:
    """The files and folders to pass to pytest."""
    if path.is_dir():
        return [path]
    if not path.is_file():
        raise UsageError(f"{path} does not exist")
    candidates = [path.with_name(f"test_{path.stem}.py"), path.with_name(f"{path.stem}_test.py")]
    found = [each for each in candidates if each.is_file()]
    if path.suffix == ".py" and _has_tests(path):
        found.append(path)
    return found


def _has_tests(path: Path) -> bool:
    tree = ast.parse(path.read_text("utf-8"), str(path))
    return any(
        isinstance(each, ast.FunctionDef) and each.name.startswith("test_") for each in tree.body
    )
