"""`python -m tools.sbom`: write a list of the release's parts (SBOM), in CycloneDX's JSON.

`make sbom` runs it. The parts are the packages that Barnabas and its extras need on this platform,
with the exact versions and hashes that requirements/dev.txt has, and what their metadata says of
licenses and dependencies. So they have to be installed, as `make setup` does. The same input gives
the same file, if SOURCE_DATE_EPOCH is set.
"""

import argparse
import json
import os
import re
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements/dev.txt"
_PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_OSI = "License :: OSI Approved :: "
_LONGEST_NAME = 100
"""Some packages have the text of their license where its name belongs."""


class SbomError(Exception):
    """What can't be listed, and what to do about it."""


@dataclass(slots=True)
class Part:
    """A package that Barnabas needs."""

    name: str
    version: str
    hashes: list[str]
    licenses: list[dict[str, Any]]
    extras: set[str] = field(default_factory=set)
    """The extras of Barnabas that need it; an empty name: Barnabas itself does."""
    needs: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def pinned(lock: Path = LOCK) -> dict[str, dict[str, list[str]]]:
    """The hashes of each version, by name and version."""
    found: dict[str, dict[str, list[str]]] = {}
    hashes: list[str] = []
    for line in lock.read_text().splitlines():
        pin = _PINNED.match(line)
        if pin is not None:
            versions = found.setdefault(canonicalize_name(pin["name"]), {})
            hashes = versions.setdefault(pin["version"], [])
        hashes += _HASH.findall(line)
    return found


class Parts:
    """All packages that are needed, found from requirement to requirement."""

    def __init__(self, locked: Mapping[str, Mapping[str, list[str]]]) -> None:
        self._locked = locked
        self._seen: set[tuple[str, str, str]] = set()
        self.found: dict[str, Part] = {}
        self.direct: set[str] = set()
        """Those that Barnabas itself names."""

    def add(self, requirement: Requirement, extra: str) -> str:
        """Add what an extra of Barnabas needs, and what that needs; its name."""
        name = canonicalize_name(requirement.name)
        part = self.found.get(name) or self._new(name)
        part.extras.add(extra)
        for own in ("", *requirement.extras):
            if (name, own, extra) not in self._seen:
                self._seen.add((name, own, extra))
                for text in distribution(name).requires or []:
                    needed = Requirement(text)
                    if needed.marker is None or needed.marker.evaluate({"extra": own}):
                        part.needs.add(self.add(needed, extra))
        return name

    def _new(self, name: str) -> Part:
        try:
            installed = distribution(name)
        except PackageNotFoundError as error:
            raise SbomError(f"{name} is not installed; run make setup") from error
        hashes = self._locked.get(name, {}).get(installed.version)
        if hashes is None:
            raise SbomError(
                f"{name} {installed.version} is installed, but {LOCK.relative_to(ROOT)} has "
                f"{', '.join(self._locked.get(name, {})) or 'none'}; run make setup"
            )
        # Of the type, mypy knows a part only: a message with several fields of one name.
        metadata: Any = installed.metadata
        licenses = _licenses(
            metadata["License-Expression"],
            metadata["License"],
            metadata.get_all("Classifier") or [],
        )
        self.found[name] = Part(name, installed.version, hashes, licenses)
        return self.found[name]


def _licenses(
    expression: str | None, name: str | None, classifiers: Iterable[str]
) -> list[dict[str, Any]]:
    if expression:
        return [{"expression": expression}]
    names = [each.removeprefix(_OSI) for each in classifiers if each.startswith(_OSI)]
    if name and "\n" not in name and len(name) <= _LONGEST_NAME and not names:
        names = [name]
    return [{"license": {"name": each}} for each in names]


def collect(project: Mapping[str, Any], locked: Mapping[str, Mapping[str, list[str]]]) -> Parts:
    """The parts of Barnabas with the extras that users install. Raises `SbomError`."""
    parts = Parts(locked)
    extras: dict[str, list[str]] = project["optional-dependencies"]
    (everything,) = (Requirement(text) for text in extras["all"])
    wanted = {"": project["dependencies"], **{name: extras[name] for name in everything.extras}}
    for extra, requirements in wanted.items():
        for text in requirements:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                parts.direct.add(parts.add(needed, extra))
    return parts


def bill(project: Mapping[str, Any], parts: Parts, seconds: int) -> dict[str, Any]:
    """The list as CycloneDX has it, of a time in seconds since 1970."""
    me = f"pkg:pypi/{project['name']}@{project['version']}"
    found = parts.found
    ordered = [found[name] for name in sorted(found)]
    content = {
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": me,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"expression": project["license"]}],
                "purl": me,
            },
            "properties": [
                {"name": "barnabas:platform", "value": sys.platform},
                {"name": "barnabas:python", "value": "{}.{}".format(*sys.version_info)},
            ],
        },
        "components": [_component(part) for part in ordered],
        "dependencies": [
            {"ref": me, "dependsOn": sorted(found[name].url for name in parts.direct)},
            *(
                {"ref": part.url, "dependsOn": sorted(found[name].url for name in part.needs)}
                for part in ordered
            ),
        ],
    }
    number = uuid5(NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        **content,
    }


def _component(part: Part) -> dict[str, Any]:
    extras = [{"name": "barnabas:extra", "value": each} for each in sorted(part.extras - {""})]
    return {
        "type": "library",
        "bom-ref": part.url,
        "name": part.name,
        "version": part.version,
        "scope": "required" if "" in part.extras else "optional",
        **({"licenses": part.licenses} if part.licenses else {}),
        "purl": part.url,
        # Those of all its files, of which each platform uses one.
        "externalReferences": [
            {
                "type": "distribution",
                "url": part.url,
                "hashes": [{"alg": "SHA-256", "content": each} for each in sorted(part.hashes)],
            }
        ],
        **({"properties": extras} if extras else {}),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="Default: dist/barnabas-VERSION.cdx.json")
    given = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    try:
        parts = collect(project, pinned())
    except SbomError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    output: Path = given.output or ROOT / f"dist/barnabas-{project['version']}.cdx.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(bill(project, parts, seconds), indent=2) + "\n")
    print(f"wrote {output}: {len(parts.found)} parts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
