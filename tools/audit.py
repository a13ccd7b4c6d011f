"""`python -m tools.audit`: look for known vulnerabilities in the packages that a release needs.

`make audit` runs it, and so does `make check`, with `--optional`. pip-audit asks PyPI's advisory
database about the exact versions of the release's parts (`tools/sbom.py`) and of what builds it.
Where that can't be reached, nothing is known about the packages, and that is what it says: as an
error, or with `--optional` as a warning.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.sbom import ROOT, SbomError, collect, pinned

PROGRAM = ROOT / ".venv-tools/bin/pip-audit"
ACCEPTED: Mapping[str, str] = {}
"""Vulnerabilities that do not concern Barnabas, by their id, and why."""
_VULNERABLE, _UNKNOWN = 1, 2
_TIMEOUT_S = 60


class Unreachable(Exception):  # noqa: N818 - reads as the fact it states
    """The advisory database has not answered, and why."""


def audited_parts() -> list[str]:
    """`NAME==VERSION` of all packages. Raises `SbomError`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = collect(project, pinned()).found.values()
    building = pinned(ROOT / "requirements/build.txt")
    return sorted(
        {f"{part.name}=={part.version}" for part in parts}
        | {f"{name}=={version}" for name, versions in building.items() for version in versions}
    )


def find_vulnerabilities(parts: Sequence[str], program: Path = PROGRAM) -> list[str]:
    """A line for each that is not accepted. Raises `Unreachable` if a part was not looked up."""
    # One first: where none can be looked up, the others need not wait for it.
    found: list[str] = []
    for some in (parts[:1], parts[1:]):
        for part in _ask(some, program):
            if "skip_reason" in part:
                raise Unreachable(part["skip_reason"])
            for each in part["vulns"]:
                names = {each["id"], *each.get("aliases", [])}
                if not names & ACCEPTED.keys():
                    fixed = ", ".join(each["fix_versions"]) or "no version"
                    found.append(
                        f"{part['name']} {part['version']}: {each['id']}, fixed in {fixed}"
                    )
    return found


def _ask(parts: Sequence[str], program: Path) -> list[dict[str, Any]]:
    if not parts:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{part}\n" for part in parts))
        file.flush()
        command = [program, "--no-deps", "--disable-pip", "--format", "json"]
        command += ["--progress-spinner", "off", "--requirement", file.name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unreachable(str(error)) from error
    try:
        answered: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError) as error:
        said = done.stderr.strip().splitlines() or [f"pip-audit ended with {done.returncode}"]
        raise Unreachable(said[-1]) from error
    if len(answered) < len(parts):
        raise Unreachable(f"{len(parts) - len(answered)} packages have no answer")
    return answered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--optional", action="store_true", help="Succeed if the database can't be reached"
    )
    given = parser.parse_args()
    try:
        parts = audited_parts()
        found = find_vulnerabilities(parts)
    except SbomError as error:
        print(f"error: {error}", file=sys.stderr)
        return _UNKNOWN
    except Unreachable as error:
        kind = "warning" if given.optional else "error"
        print(
            f"{kind}: dependencies are NOT audited, the advisory database can't be reached from "
            f"here: {error}",
            file=sys.stderr,
        )
        return 0 if given.optional else _UNKNOWN
    for line in found:
        print(line)
    print(f"{len(parts)} packages, {len(found)} known vulnerabilities")
    return _VULNERABLE if found else 0


if __name__ == "__main__":
    sys.exit(main())
