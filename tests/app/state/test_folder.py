"""Where local copies of states are, on a machine that has other users."""

import os
import tempfile
from pathlib import Path

import pytest

from barnabas.app.state.folder import state_folder
from barnabas.app.state.local_store import open_store


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No caches can be written, as in a container without a home."""
    (tmp_path / "caches").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_only_the_user_reads_the_files(temporary: Path, tmp_path: Path) -> None:
    earlier = os.umask(0)
    try:
        folder = state_folder(None, "changelog")
        store = open_store(tmp_path / "given" / "changelog", 0)
        store.close()
    finally:
        os.umask(earlier)
    assert folder.is_relative_to(temporary / f"barnabas-{os.getuid()}")
    for each in (temporary / f"barnabas-{os.getuid()}", folder, tmp_path / "given" / "changelog"):
        assert each.stat().st_mode & 0o077 == 0


def test_a_folder_into_which_others_write_is_not_used(temporary: Path) -> None:
    prepared = temporary / f"barnabas-{os.getuid()}"
    prepared.mkdir()
    prepared.chmod(0o777)
    with pytest.raises(OSError, match="give App a state_directory"):
        state_folder(None, "changelog")


def test_a_link_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (temporary / f"barnabas-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="give App a state_directory"):
        state_folder(None, "changelog")
