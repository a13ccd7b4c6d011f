"""Runs the smoke test, and the quick part of the suite, with each Python that is found.

    python -m tools.run_matrix [VERSION ...] [--wheel FILE]

Pythons are looked for on the PATH, by the names python3.11 to python3.14, and among the versions of
pyenv. One that is missing is named, and is no failure: CI may not have it either. `--wheel` is for
a place that has a Python and no compiler, such as a container: it takes a wheel of `make wheels`.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.build_wheels import ROOT, build, make_environment, smoke

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PACKAGES = (
    "aiokafka>=0.12",
    "confluent-kafka>=2.8",
    "cryptography>=44",
    "hypothesis",
    "kafka-python[crc32c,lz4,snappy,zstd]>=3.0",
    "kio>=0.6.5",
    "numpy>=1.26",
    "prometheus-client",
    "psutil",
    "pyarrow>=18",
    "pyjwt>=2.10",
    "pytest>=8.3,<9.2",
    "pytest-timeout",
    "pytest-xdist",
)
TESTS = (
    "tests/backup",
    "tests/broker/control",
    "tests/broker/coordinator",
    "tests/broker/fetch",
    "tests/broker/follower",
    "tests/broker/guards",
    "tests/broker/handlers",
    "tests/broker/logs",
    "tests/broker/offline",
    "tests/broker/quorum",
    "tests/broker/quotas",
    "tests/broker/request_log",
    "tests/broker/runtime",
    "tests/broker/settings",
    "tests/broker/share",
    "tests/broker/test_start_and_stop.py",
    "tests/cli/base",
    "tests/client",
    "tests/controller",
    "tests/flow",
    "tests/groups",
    "tests/log",
    "tests/metadata",
    "tests/raft",
    "tests/records",
    "tests/replication",
    "tests/security",
    "tests/share",
    "tests/sim",
    "tests/test_backoff.py",
    "tests/transactions",
    "tests/wire",
)
"""From codecs, with the kernel and without it, to our clients with a real broker; not Spark."""


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
        tests = [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long"]
        tests += ["--numprocesses", "4", "--dist", "loadgroup", *TESTS]
        subprocess.run(tests, cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        print(error, flush=True)
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.run_matrix", description=__doc__)
    parser.add_argument(
        "versions", nargs="*", metavar="VERSION", help=f"default: {' '.join(VERSIONS)}"
    )
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="do not build one")
    arguments = parser.parse_args()
    given: Path | None = arguments.wheel
    unknown = sorted(set(arguments.versions).difference(VERSIONS))
    if unknown:
        parser.error(f"{unknown[0]} is not among {', '.join(VERSIONS)}")
    found = {version: find(version) for version in arguments.versions or VERSIONS}
    for version, python in found.items():
        print(f"Python {version}: {python or 'not found'}", flush=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="barnabas-matrix-") as folder:
        wheel = given or build(Path(folder), {})
        for version, python in found.items():
            if python is not None and not run(python, wheel, Path(folder, version)):
                failed.append(version)
    if not any(found.values()):
        print("none of these Pythons is here; install one, or name its folder in PATH")
        return 1
    print(f"failed with Python {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
