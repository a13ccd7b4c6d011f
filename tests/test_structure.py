"""The house rules that no linter holds: no import circles, small files, no long flat lists.

What is not yet as it should be has a number here, or a list. A number may only fall: who lowers the
count lowers the number with it.
"""

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median

import pytest

import barnabas

pytestmark = pytest.mark.xdist_group("structure")  # one worker, so that all is parsed once

SOURCE = Path(barnabas.__file__).parent
ONE_FILE_PER_API = {"broker/handlers", "wire/messages"}
MAX_FILES = 30
GENERATED = ("barnabas.wire.messages.", "barnabas.sync.")
PROTOCOL_OF_HANDLERS = "Needs"
"""Each handler and each guard names what it needs of the node."""

EXPORTS = ("barnabas",)
"""Packages that export what is below them."""
CIRCLES_FOR_TYPES = {
    (
        "barnabas.app.app",
        "barnabas.app.asgi",
        "barnabas.app.running",
        "barnabas.app.serving",
        "barnabas.app.testing",
    ),
    ("barnabas.broker.net.connection", "barnabas.broker.net.connection_count"),
    (
        "barnabas.broker.replica.leader_appender",
        "barnabas.broker.replica.partition",
        "barnabas.broker.replica.partition_host",
        "barnabas.broker.replica.replica_doubt",
        "barnabas.broker.replica.replica_role",
        "barnabas.broker.replica.replica_truncation",
        "barnabas.broker.replica.watchers",
    ),
    (
        "barnabas.log.compaction.job",
        "barnabas.log.compaction.output",
        "barnabas.log.compaction.retained",
    ),
}
"""Modules that need each other, in an annotation at least."""
DUPLICATE_CLASS_NAMES = 92
ANY_DICTIONARY = "dict[str, Any]"
UNTYPED_SIGNATURES = 214


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def parsed(path: Path) -> ast.Module:
    return trees()[path]


@cache
def trees() -> dict[Path, ast.Module]:
    """All of them at once: the garbage collector would take more time than the parser."""
    gc.disable()
    try:
        return {path: ast.parse(path.read_text()) for path in modules().values()}
    finally:
        gc.enable()


def at_import(tree: ast.Module, *, for_types: bool = False) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, and those for type checkers."""
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        statement = todo.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            todo += statement.orelse + (statement.body if for_types else [])
            continue
        yield statement
        todo += [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]


def imports(tree: ast.Module, known: dict[str, Path], *, for_types: bool = False) -> set[str]:
    found = set()
    for statement in at_import(tree, for_types=for_types):
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for name in statement.names:
                full = f"{statement.module}.{name.name}"
                found.add(full if full in known else statement.module)
    return found & known.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    arrows = {name: imports(parsed(path), known) - {name} for name, path in known.items()}
    assert sum(map(len, arrows.values())) > len(arrows), "no imports were found"
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_a_circle_is_found() -> None:
    known = {"a": Path("a.py"), "b": Path("b.py")}

    def found(text: str, *, for_types: bool = False) -> set[str]:
        return imports(ast.parse(text), known, for_types=for_types)

    assert found("from b import x\n") == {"b"}
    assert found("if True:\n    from a import y\n") == {"a"}
    for_types = "def f():\n    from a import y\nif TYPE_CHECKING:\n    from b import x\n"
    assert found(for_types) == set()
    assert found(for_types, for_types=True) == {"b"}


def circles(arrows: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """The largest sets of modules, each of which reaches all others of its set (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ones: list[str] = []
    found = set()

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        open_ones.append(name)
        for other in arrows[name]:
            if other not in order:
                visit(other)
            if other in open_ones:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == order[name]:
            circle = open_ones[open_ones.index(name) :]
            del open_ones[-len(circle) :]
            if len(circle) > 1:
                found.add(tuple(sorted(circle)))

    for name in arrows:
        if name not in order:
            visit(name)
    return found


def test_no_more_modules_need_each_other_for_their_types() -> None:
    known = modules()
    arrows = {
        name: imports(parsed(path), known, for_types=name != "barnabas")
        - {name}  # it exports what is below
        for name, path in known.items()
    }
    assert circles(arrows) == CIRCLES_FOR_TYPES


def test_circles_are_found() -> None:
    arrows = {"a": {"b", "d"}, "b": {"c"}, "c": {"a", "e"}, "d": {"e"}, "e": {"f"}, "f": {"e"}}
    assert circles(arrows) == {("a", "b", "c"), ("e", "f")}
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


def test_no_more_classes_have_the_same_name() -> None:
    places = defaultdict(list)
    for module, path in modules().items():
        if module.startswith(GENERATED):
            continue
        for each in parsed(path).body:
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                places[each.name].append(module)
    del places[PROTOCOL_OF_HANDLERS]
    twice = {name: found for name, found in sorted(places.items()) if len(found) > 1}
    assert len(twice) <= DUPLICATE_CLASS_NAMES, twice


def annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        if each.annotation is not None:
            yield each.annotation
    if function.returns is not None:
        yield function.returns


def test_no_more_signatures_take_or_return_any_dictionary() -> None:
    places = [
        f"{path.relative_to(SOURCE)}:{function.lineno}"
        for path in modules().values()
        if ANY_DICTIONARY in path.read_text()
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for each in annotations(function)
        if ANY_DICTIONARY in ast.unparse(each)
    ]
    assert len(places) <= UNTYPED_SIGNATURES, places


def test_every_package_has_a_line_in_the_architecture_or_in_the_package_above() -> None:
    docs = SOURCE.parents[1] / "docs"
    overview = (docs / "ARCHITECTURE.md").read_text()
    text = overview + "".join(each.read_text() for each in docs.glob("architecture/*.md"))
    without = []
    for path in SOURCE.glob("*/**/__init__.py"):
        name, above = path.parent.name, path.parents[1]
        docstring = ast.get_docstring(parsed(above / "__init__.py")) or ""
        if above == SOURCE:
            has_line = f"`{name}/`" in overview
        else:
            has_line = f"{name}/`" in text or re.search(rf"\b{name}\b", docstring) is not None
        if not has_line:
            without.append(path.parent.relative_to(SOURCE).as_posix())
    assert without == []


def test_files_are_short() -> None:
    lengths = [len(path.read_text().splitlines()) for path in modules().values()]
    assert median(lengths) < 150


def test_no_package_is_a_long_list_of_files() -> None:
    for directory in {path.parent for path in modules().values()}:
        name = directory.relative_to(SOURCE).as_posix()
        count = len(list(directory.glob("*.py")))
        assert count <= MAX_FILES or name in ONE_FILE_PER_API, f"{name} has {count} files"


def test_every_package_says_what_it_is() -> None:
    for path in modules().values():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text())), path
