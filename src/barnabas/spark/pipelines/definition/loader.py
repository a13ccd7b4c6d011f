"""Loads pipelines from a file, or from the files of a folder."""

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from pyspark import SparkContext, cloudpickle
from pyspark.errors import PySparkException

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.definition.source_files import is_source, source_files
from barnabas.spark.pipelines.definition.sql_file import read_sql
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.user_code import user_code

_SINK = re.compile(r"^--\s?(?:sink|source\s+\w+)\s*:", re.MULTILINE)
_NO_SESSION = "SESSION_OR_CONTEXT_NOT_EXISTS"


def _start_session() -> object:
    from barnabas.spark.sessions.tuned_session import session  # it takes half a second

    return session()


def load(
    path: str | Path, start_spark: Callable[[], object] = _start_session
) -> dict[str, Pipeline]:
    """The pipelines of a `.py` or `.sql` file, or of a folder and its subfolders, by name.

    Spark is started only if a file uses columns at its top level, such as `F.window(...)`. Python
    files are imported with their folder on the path, so they can import each other.
    Skips tests (`test_*.py`, `*_test.py`, `conftest.py`), names that start with a dot or an
    underscore, and, in a folder, files that do not mention pipelines. Paths in a definition are
    relative to the folder of its file.
    """
    found: dict[str, Pipeline] = {}
    for file in definition_files(Path(path)):
        for each in _read(file, start_spark):
            if each.name in found:
                other = found[each.name].defined_in
                raise InvalidArgument(f"pipeline {each.name} is in {other} and in {file}")
            found[each.name] = each.resolved(file.parent.resolve())
    send_modules_by_value(Path(path))
    if not found:
        raise InvalidArgument(
            f"no pipeline in {path}: define one with @pipeline(...) in a .py file, or in "
            "a .sql file"
        )
    return found


def definition_files(path: Path) -> list[Path]:
    """The files that may define pipelines."""
    if path.is_file():
        if not is_source(path):
            raise InvalidArgument(f"{path} is neither a .py nor a .sql file")
        return [path]
    if not path.is_dir():
        raise InvalidArgument(f"{path} does not exist")
    return sorted(
        file
        for file in source_files(path)
        if _may_define(file.relative_to(path)) and _speaks_of_pipelines(file)
    )


def is_test(file: Path) -> bool:
    """Whether pytest would collect it."""
    return file.suffix == ".py" and (
        file.stem.startswith("test_") or file.stem.endswith("_test") or file.stem == "conftest"
    )


def _may_define(file: Path) -> bool:
    return not is_test(file) and not any(part.startswith((".", "_")) for part in file.parts)


def _speaks_of_pipelines(file: Path) -> bool:
    """Whether it mentions pipelines: other programs and queries in a folder are not run."""
    text = file.read_text("utf-8", errors="replace")
    return "pipeline" in text if file.suffix == ".py" else _SINK.search(text) is not None


def _read(file: Path, start_spark: Callable[[], object]) -> list[Pipeline]:
    if file.suffix == ".sql":
        return [read_sql(file)]
    try:
        module = _import(file.resolve())
    except (PipelineError, PySparkException) as error:
        if not _lacks_spark(error):
            if isinstance(error, PipelineError):
                raise
            raise PipelineError(f"{file}: {reason_of(error)}") from error
        start_spark()
        module = _import(file.resolve())
    return [
        each
        for each in vars(module).values()
        # One that was imported from another file belongs there.
        if isinstance(each, Pipeline)
        and each.defined_in is not None
        and each.defined_in.resolve() == file.resolve()
    ]


def _lacks_spark(error: BaseException) -> bool:
    """Whether a Spark function that needs a session was called: some raise, others assert."""
    if isinstance(error, PySparkException):
        return error.getCondition() == _NO_SESSION
    if SparkContext._active_spark_context is not None:
        return False
    cause = error.__cause__
    if not isinstance(cause, AssertionError):
        return False
    return "pyspark" in Path(traceback.extract_tb(cause.__traceback__)[-1].filename).parts


def _import(file: Path) -> ModuleType:
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    known = sys.modules.get(file.stem)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    # A file may have the name of a module of Python.
    name = file.stem if known is None else f"{file.stem}_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with user_code(file):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def send_modules_by_value(path: Path) -> None:
    """Send modules next to the pipelines to Spark's workers, which can't import them."""
    folder = (path if path.is_dir() else path.parent).resolve()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and is_in_folder(Path(file), folder):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def is_in_folder(file: Path, folder: Path) -> bool:
    """Whether it is a file of the user's in this folder.

    A virtual environment may be in the folder; workers have its packages too.
    """
    return file.is_relative_to(folder) and "site-packages" not in file.relative_to(folder).parts
