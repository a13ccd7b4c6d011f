"""Where the files of local state are."""

import os
import stat
import sys
import tempfile
from pathlib import Path

OWNER_ONLY = 0o700
"""States have what is in records."""


def state_folder(directory: str | Path | None, changelog: str) -> Path:
    """The folder for one changelog: in this directory, or where the platform has its caches."""
    if directory is not None:
        return Path(directory) / changelog
    for each in (_caches(), _temporary()):
        folder = each / "state" / changelog
        try:
            each.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
            folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and (each != _temporary() or _is_own(each)):
            return folder
    raise OSError("no folder for local state can be written: give App a state_directory")


def _is_own(folder: Path) -> bool:
    """Whether nobody else has made it, or can put files there: what is in them is believed."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _temporary() -> Path:
    """Where others can make folders as well: each user has one."""
    return Path(tempfile.gettempdir()) / f"barnabas-{os.getuid()}"


def _caches() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a container without a user
        return _temporary()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "barnabas"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "barnabas"
