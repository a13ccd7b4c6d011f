"""Builds the wheels of this machine into dist/, and checks each as a user without a compiler does.

One has the compiled kernels and keeps to the stable ABI of Python 3.11, the other is pure Python.
Each is installed into a fresh environment, from wheels only and with no compiler on the PATH, and
has to send records through a broker.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = ("src", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py")
PURE = {"BARNABAS_PURE": "1"}
"""The environment in which `setup.py` leaves the kernels out."""


def copy_source(target: Path) -> None:
    """What a wheel is made from, without what earlier builds have left."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, target / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, target / part)


def build(target: Path, environment: Mapping[str, str], *options: str) -> Path:
    """Build a wheel into a folder; its path. `options` are for pip."""
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
        copy_source(Path(folder))
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
        command += ["--no-deps", *options, "--wheel-dir", f"{folder}/dist", folder]
        subprocess.run(command, env={**os.environ, **environment}, check=True)
        (built,) = Path(folder, "dist").glob("barnabas-*.whl")
        target.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(built, target))


def make_environment(folder: Path, python: str, *packages: str) -> Path:
    """A fresh environment with these packages, from wheels only; its Python."""
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    program = folder / "bin/python"
    command = [program, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run(
        [*command, "--only-binary", ":all:", *packages],
        env={**os.environ, "PATH": str(folder / "bin")},  # no compiler
        check=True,
    )
    return program


def smoke(python: Path, *arguments: str) -> None:
    """Run the smoke test with a Python, away from the sources."""
    command = [python, ROOT / "tools/smoke.py", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, check=True)


def main() -> None:
    for environment, expected in (({}, "--compiled"), (PURE, "--pure")):
        wheel = build(ROOT / "dist", environment)
        print(f"built {wheel.relative_to(ROOT)}, {wheel.stat().st_size:,} bytes", flush=True)
        with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
            smoke(make_environment(Path(folder), sys.executable, str(wheel)), expected)


if __name__ == "__main__":
    main()
