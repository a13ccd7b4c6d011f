"""The house rules that no linter holds: no import circles, small files, no long flat lists."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median

import barnabas

SOURCE = Path(barnabas.__file__).parent
ONE_FILE_PER_API = {"broker/handlers", "wire/messages"}
MAX_FILES = 30


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported."""
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        statement = todo.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            todo += statement.orelse
            continue
        yield statement
        todo += [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    found = set()
    for statement in at_import(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for name in statement.names:
                full = f"{statement.module}.{name.name}"
                found.add(full if full in known else statement.module)
    return found & known.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    arrows = {name: imports(path, known) - {name} for name, path in known.items()}
    assert sum(map(len, arrows.values())) > len(arrows), "no imports were found"
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_a_circle_is_found(tmp_path: Path) -> None:
    known = {"a": tmp_path / "a.py", "b": tmp_path / "b.py"}
    known["a"].write_text("from b import x\n")
    known["b"].write_text("if True:\n    from a import y\n")
    assert [imports(path, known) for path in known.values()] == [{"b"}, {"a"}]
    known["b"].write_text("def f():\n    from a import y\nif TYPE_CHECKING:\n    import a\n")
    assert imports(known["b"], known) == set()


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
