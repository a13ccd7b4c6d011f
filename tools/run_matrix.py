"""Runs the smoke test, and some tests that need little else, with each Python that is found.

Pythons are looked for on the PATH, by the names python3.11 to python3.14, and among the versions of
pyenv. One that is missing is named, and is no failure: CI may not have it either.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.build_wheels import ROOT, build, make_environment, smoke

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PACKAGES = ("hypothesis", "psutil", "pytest>=8.3,<9.2", "pytest-timeout", "pytest-xdist")
TESTS = (
    "tests/broker/settings",
    "tests/broker/test_start_and_stop.py",
    "tests/cli/base",
    "tests/log",
    "tests/metadata",
    "tests/raft",
    "tests/replication",
    "tests/test_backoff.py",
)
"""From the pure core to a real broker; none needs another client or Spark."""


def find(version: str) -> str | None:
    """A Python of this version that runs; a shim of pyenv may not."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep)]
    candidates = [folder / f"python{version}" for folder in folders]
    candidates += sorted(Path(_pyenv_root(), "versions").glob(f"{version}.*/bin/python"))
    for candidate in candidates:
        if candidate.is_file() and _version(candidate) == version:
            return str(candidate)
    return None


def _pyenv_root() -> str:
    return os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")


def _version(python: Path) -> str | None:
    done = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"Python (\d+\.\d+)\.", done.stdout)
    return found[1] if done.returncode == 0 and found else None


def run(python: str, wheel: Path, folder: Path) -> bool:
    """Whether all of it passes."""
    try:
        program = make_environment(folder, python, str(wheel), *PACKAGES)
        smoke(program, "--compiled")
        tests = [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        subprocess.run(tests, cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        print(error, flush=True)
        return False
    return True


def main() -> int:
    found = {version: find(version) for version in VERSIONS}
    for version, python in found.items():
        print(f"Python {version}: {python or 'not found'}", flush=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="barnabas-matrix-") as folder:
        wheel = build(Path(folder), {})
        for version, python in found.items():
            if python is not None and not run(python, wheel, Path(folder, version)):
                failed.append(version)
    print(f"failed with Python {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
