"""Where the files of local state are."""

import os
import sys
import tempfile
from pathlib import Path


def state_folder(directory: str | Path | None, changelog: str) -> Path:
    """The folder for one changelog: in this directory, or where the platform has its caches."""
    if directory is not None:
        return Path(directory) / changelog
    for each in (_caches(), Path(tempfile.gettempdir())):
        folder = each / "barnabas" / "state" / changelog
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError("no folder for local state can be written: give App a state_directory")


def _caches() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a container without a user
        return Path(tempfile.gettempdir())
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
