"""The release before, built from the commit of that time, for tests that upgrade a cluster."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.machine import find_tool, missing

ROOT = Path(__file__).parent.parent.parent
VARIABLE = "BARNABAS_UPGRADE_FROM"
_FIRST_NEGOTIATED = "src/barnabas/broker/runtime/peer_versions.py"
"""Releases without this file knew no other release."""
_PROOF = "src/barnabas/broker/net/peer_proof.py"
_PROOF_FILES = (_PROOF, "src/barnabas/broker/handlers/sasl_authenticate.py")
_FIRST_PROOF = "_VERSION = 1\n"


def install_earlier_release(directory: Path) -> Path:
    """Build a wheel of it and install that into a folder for PYTHONPATH.

    It is the last commit before nodes agreed on versions, or the one that the environment names.
    If its nodes prove themselves in the way that no release has, they get the proof of today.
    """
    git = find_tool("git")
    if git is None:
        pytest.skip(missing("git"))
    commit = os.environ.get(VARIABLE) or _before_negotiation(git)
    source = directory / "source"
    archive = subprocess.run(
        [str(git), "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        # Python has it from 3.11.4 on.
        files.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        files.extractall(source)
    if _FIRST_PROOF in (source / _PROOF).read_text():
        for name in _PROOF_FILES:
            shutil.copy(ROOT / name, source / name)
    wheels, installed = directory / "wheels", directory / "installed"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(source)]
    _run(build)
    (wheel,) = wheels.glob("*.whl")
    _run([*pip, "install", "--no-deps", "--target", str(installed), str(wheel)])
    return installed


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _before_negotiation(git: Path) -> str:
    found = subprocess.run(
        [str(git), "log", "--diff-filter=A", "--format=%H", "--", _FIRST_NEGOTIATED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    added = found.stdout.split()
    if found.returncode or not added:
        pytest.skip(f"the history of this checkout does not have it; set {VARIABLE} to a commit")
    return f"{added[-1]}^"
