"""Which areas of the tests a change can reach: CI tests those, as far as its time allows.

An area is reached if one of its files imports a module that has changed, directly or through
others. A module that a test names in a string, because it starts it as a process, counts as
imported. The fewer steps, the likelier it is that the area notices a fault: what the time does not
allow is left out from the far end.
"""

import ast
import subprocess
from collections import deque
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

from tests.support.areas import LOOSE, all_areas, area_of

ROOT = Path(__file__).resolve().parent.parent
_LAST_COMMITS = 10
_FAR = 99

_ELSEWHERE = {
    "docs/": ("examples", "spark", "app"),
    "README.md": ("examples",),
    "examples/": ("examples",),
    "benchmarks/": ("benchmarks",),
    "ops/": ("ops",),
    "tools/": (LOOSE,),
    "src/kernel": ("records", "client", LOOSE),
    "src/json_kernel/": ("spark",),
    "src/avro_kernel/": ("formats", "spark"),
    "src/columns/": ("formats", "spark"),
}
"""What is no Python module, and the areas that look at it."""


def changed_files() -> list[str]:
    """Since this branch left the main one, or of the last commits."""
    base = _git("merge-base", "HEAD", "origin/HEAD")
    if base in ("", _git("rev-parse", "HEAD")):
        commits = _git("rev-list", f"--max-count={_LAST_COMMITS + 1}", "HEAD").split()
        base = commits[-1] if commits else "HEAD"
    return _git("diff", "--name-only", base, "HEAD").splitlines()


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def reached_areas(changed: Iterable[str]) -> dict[str, int]:
    """The areas that these files can reach, and in how many steps: the nearest first."""
    steps: dict[str, int] = {}
    origins = set()
    for file in changed:
        module = _module(file)
        if (
            file.startswith("tests/")
            and file.count("/") > 1
            and not file.startswith("tests/support/")
        ):
            steps[area_of(file)] = 0
        if module is not None:
            origins.add(module)
            steps |= {part: 0 for part in module.split(".")[1:2] if part in all_areas()}
        for place, areas in _ELSEWHERE.items():
            if file.startswith(place):
                steps |= dict.fromkeys(areas, 0)
    for name, distance in _distances(origins).items():
        if name.startswith("tests."):
            area = area_of(name.replace(".", "/"))
            steps[area] = min(steps.get(area, _FAR), distance)
    if any(file in ("tests/conftest.py", "pyproject.toml") for file in changed):
        steps = {area: steps.get(area, _FAR) for area in all_areas()}
    known = {area: steps[area] for area in all_areas() if area in steps}
    return dict(sorted(known.items(), key=lambda each: each[1]))


def _module(file: str) -> str | None:
    path = Path(file)
    if path.suffix != ".py" or path.parts[0] not in ("src", "tests"):
        return None
    parts = path.with_suffix("").parts
    name = ".".join(parts[1:] if parts[0] == "src" else parts)
    return name.removesuffix(".__init__")


@cache
def _importers() -> dict[str, set[str]]:
    """Of each module, what imports it directly."""
    graph = grimp.build_graph("barnabas", cache_dir=None)
    importers = {name: graph.find_modules_that_directly_import(name) for name in graph.modules}
    # `import barnabas` offers names from everywhere: whoever uses one imports its module, too.
    for found in importers.values():
        found.discard("barnabas")
    for path in sorted((ROOT / "tests").rglob("*.py")):
        module = _module(str(path.relative_to(ROOT)))
        assert module is not None
        for name in _imported(path):
            importers.setdefault(name, set()).add(module)
    for name in list(importers):
        package = name.rpartition(".")[0]
        if "." in package:  # whoever imports a module imports its package
            importers.setdefault(package, set()).add(name)
    return importers


def _distances(origins: Iterable[str]) -> dict[str, int]:
    """In how many steps each module is reached."""
    importers = _importers()
    distances = dict.fromkeys(origins, 0)
    todo = deque(distances)
    while todo:
        name = todo.popleft()
        for importer in importers.get(name, ()):
            if importer not in distances:
                distances[importer] = distances[name] + 1
                todo.append(importer)
    return distances


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value == "barnabas":
                found.add("barnabas.__main__")
            elif node.value.startswith("barnabas.") and node.value.replace(".", "").isidentifier():
                found.add(node.value)
    return {name for name in found if name.partition(".")[0] in ("barnabas", "tests")}
