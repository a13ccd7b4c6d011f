"""The files of a folder that may have definitions, or modules that these import."""

import os
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = (".py", ".sql")


def is_source(file: Path) -> bool:
    return file.suffix in _SUFFIXES


def source_files(folder: Path) -> Iterator[Path]:
    """Python and SQL files in it and its subfolders, except hidden folders.

    The folder may also hold tables and checkpoints that another process is writing: a subfolder
    that disappears while it is read has no files. `Path.rglob` raises then.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        yield from filter(is_source, (Path(parent, name) for name in names))
