"""The exact versions in requirements/ are those that pyproject.toml allows, and none is missing."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def required(extra: str) -> list[Requirement]:
    """What the project needs with an extra, without extras of its own."""
    found: list[Requirement] = []
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"][extra]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            for inner in requirement.extras:
                found += required(inner)
        else:
            found.append(requirement)
    return found


def pinned(extra: str) -> dict[str, list[Version]]:
    found: dict[str, list[Version]] = {}
    for line in (ROOT / "requirements" / f"{extra}.txt").read_text().splitlines():
        if "==" in line and not line.startswith(" "):
            name, _, version = line.split(" ", 1)[0].partition("==")
            found.setdefault(canonicalize_name(name), []).append(Version(version))
    return found


@pytest.mark.parametrize("extra", ["demo", "dev", "docs"])
def test_what_is_required_is_pinned(extra: str) -> None:
    exact = pinned(extra)
    for requirement in required(extra):
        versions = exact.get(canonicalize_name(requirement.name), [])
        fitting = [version for version in versions if version in requirement.specifier]
        assert versions, f"{requirement} is not in requirements/{extra}.txt; run make lock"
        assert fitting == versions, f"{requirement}, but {versions} are pinned; run make lock"


def test_the_demo_has_the_versions_that_are_tested() -> None:
    tested = pinned("dev")
    for name, versions in pinned("demo").items():
        assert versions == tested[name], name
