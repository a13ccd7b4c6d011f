"""A wheel built from the sources works in an environment that has no other Barnabas."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.examples.documents import ROOT
from tests.support.wait import LIMIT_S
from tools.build_wheels import PURE, build

ROUND_TRIP = """
import barnabas

with barnabas.Cluster() as cluster:
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        producer.send("greetings", b"hello")
    with barnabas.Consumer(cluster.bootstrap_servers, "greetings") as consumer:
        print(next(iter(consumer)).value, barnabas.__file__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network, by the setuptools of this environment."""
    return build(tmp_path_factory.mktemp("wheel"), {}, "--no-build-isolation")


def test_a_pure_wheel_serves_every_machine(wheel: Path, tmp_path: Path) -> None:
    pure = build(tmp_path, PURE, "--no-build-isolation")
    assert pure.name.endswith("-py3-none-any.whl")
    names = {name for name in ZipFile(pure).namelist() if "dist-info" not in name}
    assert names == {
        name
        for name in ZipFile(wheel).namelist()
        if "dist-info" not in name and not name.endswith(".so")  # none without a compiler
    }


def test_the_wheel_has_every_module(wheel: Path) -> None:
    files = set(ZipFile(wheel).namelist())
    modules = (ROOT / "src").rglob("barnabas/**/*.py")
    assert {str(module.relative_to(ROOT / "src")) for module in modules} <= files
    assert "barnabas/py.typed" in files
    assert not [name for name in files if name.startswith(("tests/", "benchmarks/", "examples/"))]


def test_an_installed_wheel_serves_and_uses_a_broker(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    bin_directory = tmp_path / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    python = bin_directory / "python"
    run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=tmp_path)
    # Its dependencies are those of this environment, whose own Barnabas a .pth file does not see.
    (packages,) = tmp_path.glob("venv/lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + os.linesep)

    assert run(bin_directory / "barnabas", "--version", cwd=tmp_path).startswith("barnabas ")
    value, origin = run(python, "-c", ROUND_TRIP, cwd=tmp_path).split()
    assert value == "b'hello'"
    assert origin == str(packages / "barnabas" / "__init__.py")


def test_the_smoke_test_refuses_a_kernel_that_does_not_load(wheel: Path, tmp_path: Path) -> None:
    """Barnabas itself continues without it."""
    ZipFile(wheel).extractall(tmp_path)
    (tmp_path / "barnabas/records/_kernel.abi3.so").write_bytes(b"no library")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/smoke.py", "--compiled"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert "ImportError" in done.stderr
