"""`make audit` reports vulnerabilities, and says so if it could not look for them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import audit
from tools.audit import Unreachable, audited_parts, find_vulnerabilities

PARTS = ["good==1.0", "bad==2.0"]
FLAW = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.1"], "description": "..."}


def answering(folder: Path, known: dict[str, list[dict[str, Any]]], *, code: int = 0) -> Path:
    """A pip-audit that knows these packages, and skips the others as the real one does."""
    script = folder / "pip-audit"
    script.write_text(f"""#!{sys.executable}
import json, pathlib, sys
known = json.loads({json.dumps(known)!r})
answers = []
for line in pathlib.Path(sys.argv[-1]).read_text().split():
    name, _, version = line.partition("==")
    if name in known:
        answers.append({{"name": name, "version": version, "vulns": known[name]}})
    else:
        answers.append({{"name": name, "skip_reason": "Dependency not found on PyPI: " + name}})
print(json.dumps({{"dependencies": answers, "fixes": []}}))
sys.exit({code})
""")
    script.chmod(0o755)
    return script


def test_every_part_of_the_release_and_of_its_build_is_audited() -> None:
    names = {part.partition("==")[0] for part in audited_parts()}
    assert {"uvloop", "cryptography", "pyspark", "setuptools", "auditwheel"} <= names
    assert not {"pytest", "mypy"} & names


def test_a_vulnerability_is_one_line(tmp_path: Path) -> None:
    program = answering(tmp_path, {"good": [], "bad": [FLAW]}, code=1)
    assert find_vulnerabilities(PARTS, program) == ["bad 2.0: PYSEC-1, fixed in 2.1"]
    assert find_vulnerabilities(PARTS[:1], program) == []


def test_what_is_accepted_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ACCEPTED", {"CVE-1": "is about Windows"})
    assert find_vulnerabilities(PARTS, answering(tmp_path, {"good": [], "bad": [FLAW]})) == []


@pytest.mark.parametrize("known", [{}, {"good": []}])
def test_a_package_that_was_not_looked_up_is_not_taken_for_good(
    known: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    with pytest.raises(Unreachable, match="not found on PyPI"):
        find_vulnerabilities(PARTS, answering(tmp_path, known))


@pytest.mark.parametrize(
    "script",
    ["echo 'no such host' >&2; exit 1", "echo '{}'; exit 0", "echo '{\"dependencies\": []}'"],
)
def test_without_an_answer_nothing_is_known(script: str, tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(Unreachable):
        find_vulnerabilities(PARTS, program)
    with pytest.raises(Unreachable):
        find_vulnerabilities(PARTS, tmp_path / "missing")


@pytest.mark.parametrize(("options", "code"), [([], 2), (["--optional"], 0)])
def test_the_command_says_that_nothing_was_audited(
    options: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = answering(tmp_path, {})
    monkeypatch.setattr(
        audit, "find_vulnerabilities", lambda _: find_vulnerabilities(PARTS, program)
    )
    monkeypatch.setattr(sys, "argv", ["audit", *options])
    assert audit.main() == code
    said = capsys.readouterr()
    assert "dependencies are NOT audited" in said.err
    assert not said.out
