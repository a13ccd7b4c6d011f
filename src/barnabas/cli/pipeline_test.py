"""Finding and running the tests of pipelines."""

import ast
from importlib import import_module
from pathlib import Path

from barnabas.cli.command import CommandError, UsageError

_NO_TESTS = 5  # pytest's code for it


def run_with_pytest(path: Path, keyword: str | None, *, verbose: bool) -> int:
    """Run them with pytest; returns its exit code."""
    try:
        pytest = import_module("pytest")
    except ImportError as missing:
        raise CommandError("tests of pipelines are run by pytest: pip install pytest") from missing
    files = tests_of(path)
    if not files:
        raise CommandError(
            f"there are no tests of {path}: write some into test_{path.stem}.py beside it "
            "(docs/pipelines.md shows how)"
        )
    arguments = [*map(str, files), "--import-mode=prepend"]
    arguments += ["-v"] if verbose else ["-q"]
    arguments += [] if keyword is None else ["-k", keyword]
    code = int(pytest.main(arguments))
    if code == _NO_TESTS:
        raise CommandError(f"no test was found for {path}")
    return code


def tests_of(path: Path) -> list[Path]:
    """What pytest is to look into."""
    if path.is_dir():
        return [path]
    if not path.is_file():
        raise UsageError(f"{path} does not exist")
    beside = [path.with_name(f"test_{path.stem}.py"), path.with_name(f"{path.stem}_test.py")]
    found = [each for each in beside if each.is_file()]
    if path.suffix == ".py" and _has_tests(path):
        found.append(path)
    return found


def _has_tests(path: Path) -> bool:
    tree = ast.parse(path.read_text("utf-8"), str(path))
    return any(
        isinstance(each, ast.FunctionDef) and each.name.startswith("test_") for each in tree.body
    )
