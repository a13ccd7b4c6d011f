"""Notices edits of definitions, and reads them again.

A file has changed if its modification time or size has. A pipeline depends on its file and, in
Python, on the modules next to it that the file imports, directly or indirectly: its fingerprint
changes with them.
"""

import ast
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import TypeAlias

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.definitions import Definitions, load_each
from barnabas.spark.pipelines.definition.loader import is_in_folder
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.definition.source_files import source_files

_Stamps: TypeAlias = dict[Path, tuple[int, int]]


class DefinitionWatch:
    """The definitions of a path while they are edited."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = (path if path.is_dir() else path.parent).resolve()
        self._seen = self._stamps()

    def has_changed(self) -> bool:
        """Whether a file was changed, added or deleted since the last call."""
        now = self._stamps()
        if now == self._seen:
            return False
        self._seen = now
        return True

    def load(self, start_spark: Callable[[], object]) -> Definitions:
        """The definitions as they are now; modules are imported again."""
        self._forget_modules()
        try:
            return load_each(self._path, start_spark)
        except InvalidArgument:  # all files were deleted
            return Definitions()

    def fingerprint(self, defined: Pipeline) -> str:
        """The contents that a pipeline depends on."""
        assert defined.defined_in is not None
        files: dict[Path, bytes] = {}
        waiting = [defined.defined_in.resolve()]
        while waiting:
            file = waiting.pop()
            if file not in files and file.is_file():
                files[file] = file.read_bytes()
                waiting += _imported(file, files[file], self._folder)
        found = hashlib.sha256()
        for file in sorted(files):
            found.update(bytes(file) + b"\0" + files[file] + b"\0")
        return found.hexdigest()

    def _stamps(self) -> _Stamps:
        if self._path.is_file():
            files = iter([*self._path.parent.glob("*.py"), self._path])
        else:
            files = source_files(self._path)
        stamps = {}
        for file in files:
            try:
                status = file.stat()
            except FileNotFoundError:  # deleted just now
                continue
            stamps[file] = (status.st_mtime_ns, status.st_size)
        return stamps

    def _forget_modules(self) -> None:
        """Let modules of the folder be imported again, from their text.

        A compiled file records the time of its source in seconds, and two edits may be made within
        one second.
        """
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and is_in_folder(Path(file), self._folder):
                del sys.modules[name]
                Path(cache_from_source(file)).unlink(missing_ok=True)
        importlib.invalidate_caches()


def _imported(file: Path, text: bytes, folder: Path) -> Iterator[Path]:
    """The files of a folder that a Python file imports; modules are found from its own folder."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return  # loading the file reports it
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            for base in dict.fromkeys((file.parent, folder)):
                place = base.joinpath(*name.split("."))
                yield place.with_suffix(".py")
                yield place / "__init__.py"
