"""Numbers and lists of README and docs/ are those of the code."""

import re
import tomllib
from collections.abc import Iterator

import barnabas
from barnabas.changes.envelope import VERSION
from barnabas.diagnosis.examine import CHECKS
from tests.examples.documents import ROOT
from tests.examples.test_links import PAGES

SITE = tomllib.loads((ROOT / "tools" / "site.toml").read_text())
LADDER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def pages(entry: object) -> Iterator[str]:
    """The pages that a navigation names, however deep."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from pages(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from pages(below)


def test_the_doctor_has_as_many_checks_as_pages_say() -> None:
    said = {n for page in PAGES for n in re.findall(r"(\d+) checks of", page.read_text())}
    assert said == {str(len(CHECKS))}


def test_the_site_has_each_page_once() -> None:
    named = list(pages(SITE["project"]["nav"]))
    assert sorted(named) == sorted(set(named))


def test_every_package_has_a_line_in_the_architecture() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    (table,) = re.findall(r"^## Packages\n(.*?)^Imports go down", text, re.DOTALL | re.MULTILINE)
    packages = [path.parent.name for path in (ROOT / "src" / "barnabas").glob("*/__init__.py")]
    assert [name for name in packages if f"`{name}/`" not in table] == []


def test_every_part_of_the_architecture_is_in_its_list() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    (listed,) = re.findall(r"^## Parts\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    pages = [path.name for path in (ROOT / "docs" / "architecture").glob("*.md")]
    assert [name for name in pages if f"(architecture/{name})" not in listed] == []


def test_the_ladder_is_the_one_that_is_checked() -> None:
    (checked,) = [each for each in LADDER if each["name"] == "Imports go down the ladder"]
    rungs = [re.findall(r"barnabas\.(\w+)", rung) for rung in checked["layers"]]
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    (drawn,) = re.findall(r"enforces it:\n\n```\n(.*?)```", text, re.DOTALL)
    assert [line.split(" | ") for line in drawn.splitlines()] == rungs


def test_a_broad_except_is_where_the_architecture_says() -> None:
    """Code that others wrote may raise anything; our own may not."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    (said,) = re.findall(r"`except Exception` is in (.*?)A test compares", text, re.DOTALL)
    named = {part.rstrip("/") for part in re.findall(r"`([\w/.]+)`", said)}
    source = ROOT / "src" / "barnabas"
    found = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "except Exception" in path.read_text()
    ]
    outside = [path for path in found if not any(path.startswith(place) for place in named)]
    assert outside == []
    unused = [place for place in named if not any(path.startswith(place) for path in found)]
    assert unused == []


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert barnabas.__version__ == project["version"]
    assert f"barnabas-{project['version']}" == VERSION
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
