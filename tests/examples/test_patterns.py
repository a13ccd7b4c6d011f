"""The pages about patterns: what they show is in the programs, and these print what they say."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Cluster
from barnabas.embedded.launcher import Launcher
from tests.examples.documents import ROOT, Step, run, steps

PAGES = sorted((ROOT / "docs" / "patterns").glob("*.md"))
INDEX = ROOT / "docs" / "patterns" / "README.md"
SERVICES = sorted((ROOT / "examples" / "services").glob("[!_]*.py"))
"""They run until they are stopped; each has a test in tests/examples/services."""

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
_LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


WITH_PROGRAMS = [
    page
    for page in PAGES
    if page.stem not in ("README", "testing") and "examples/services/" not in page.read_text()
]
"""The tests that the page about testing shows are run with those of the pytest plugin."""


def by_name(path: Path) -> str:
    return path.stem


def programs_of(page: Path) -> list[Path]:
    """The Python files that it links to, and those in directories that it links to."""
    targets = [(page.parent / target).resolve() for target in _LINK.findall(page.read_text())]
    files = [target for target in targets if target.suffix == ".py"]
    return files + [file for target in targets if target.is_dir() for file in target.glob("*.py")]


def test_every_pattern_is_in_the_index_and_every_program_on_a_page() -> None:
    index = INDEX.read_text()
    for page in PAGES:
        assert page == INDEX or f"({page.name})" in index, page.name
    shown = {program for page in PAGES if page != INDEX for program in programs_of(page)}
    assert {*PROGRAMS, *SERVICES} <= shown


def test_every_service_has_a_test_and_fits_on_a_page() -> None:
    for service in SERVICES:
        assert (ROOT / "tests" / "examples" / "services" / f"test_{service.name}").exists()
        assert len(service.read_text().splitlines()) <= 120, service.name


@pytest.mark.parametrize("checker", ["mypy --strict --config-file=", "basedpyright --level error"])
@pytest.mark.long
def test_services_have_types(checker: str, directory: Path) -> None:
    name, *options = checker.split()
    program = Path(sys.executable).with_name(name)
    done = subprocess.run(
        [str(program), *options, *map(str, SERVICES)],
        cwd=ROOT,
        env={**os.environ, "MYPY_CACHE_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_what_a_page_shows_is_in_its_program(page: Path) -> None:
    programs = [program.read_text() for program in programs_of(page)]
    for step in steps(page):
        if step.kind == "python":
            assert any(step.source in program for program in programs), step.source


@pytest.fixture(scope="module")
def launcher() -> Iterator[None]:
    """Lets the nodes of all clusters here start faster."""
    launcher = Launcher.borrow()
    yield
    launcher.give_back()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("patterns")


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_a_program_has_help(program: Path, directory: Path) -> None:
    run(Step("console", f"python {program} --help", ["usage:…[bootstrap]", "…"]), "", directory)


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=by_name)
def test_a_program_prints_what_its_page_says(page: Path, directory: Path) -> None:
    commands = [step for step in steps(page) if step.source.startswith("python examples/")]
    assert commands
    with Cluster() as cluster:
        for step in commands:
            source = step.source.replace("examples/", f"{ROOT}/examples/")
            command = f"{source} {cluster.bootstrap_servers}"
            run(Step("console", command, step.expected), "", directory)
