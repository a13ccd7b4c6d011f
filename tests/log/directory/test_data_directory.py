"""The data directory: one owner, one identity, and deletions that finish."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from barnabas import __version__
from barnabas.log import (
    DataDirectory,
    DirectoryLocked,
    DirectoryMismatch,
    Log,
    LogConfig,
    OsDisk,
    StorageError,
)
from tests.log.batches import put, values

DIRECTORY_ID = bytes(range(16))


def opened(path: Path, node_id: int = 1) -> DataDirectory:
    return DataDirectory.open(
        OsDisk(), f"{path}/", node_id=node_id, new_cluster_id="abc", new_directory_id=DIRECTORY_ID
    )


def test_a_new_directory_gets_an_identity_that_stays(tmp_path: Path) -> None:
    data = opened(tmp_path / "a" / "b")
    assert (data.node_id, data.cluster_id) == (1, "abc")
    data.close()
    data = DataDirectory.open(
        OsDisk(), data.path, node_id=1, new_cluster_id="other", new_directory_id=bytes(16)
    )
    assert data.cluster_id == "abc"
    assert data.directory_id == DIRECTORY_ID
    data.close()
    with pytest.raises(DirectoryMismatch, match="belongs to node 1, not to node 2"):
        opened(tmp_path / "a" / "b", node_id=2)
    opened(tmp_path / "a" / "b").close()


def test_a_directory_without_an_id_of_its_own_gets_one(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=old\nnode.id=1\n")
    data = opened(tmp_path)
    assert (data.cluster_id, data.directory_id) == ("old", DIRECTORY_ID)
    data.close()
    data = DataDirectory.open(
        OsDisk(), str(tmp_path), node_id=1, new_cluster_id="x", new_directory_id=bytes(16)
    )
    assert (data.cluster_id, data.directory_id) == ("old", DIRECTORY_ID)
    data.close()


def test_a_directory_may_join_a_cluster_later(tmp_path: Path) -> None:
    def reopened() -> DataDirectory:
        return DataDirectory.open(
            OsDisk(), str(tmp_path), node_id=1, new_cluster_id="", new_directory_id=DIRECTORY_ID
        )

    reopened().close()
    data = reopened()
    assert (data.cluster_id, data.directory_id) == ("", DIRECTORY_ID)
    data.join_cluster("abc")
    assert data.cluster_id == "abc"
    data.close()
    data = reopened()
    assert (data.cluster_id, data.directory_id) == ("abc", DIRECTORY_ID)
    data.close()


STRANGE = "version=1\nnode.id=1\ndirectory.id=no\n"


@pytest.mark.parametrize("content", [STRANGE, "", "version=9\n", "version=1\nnode.id=1\n", "\x00"])
def test_a_strange_meta_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.properties").write_text(content)
    with pytest.raises(DirectoryMismatch):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("content", "needed"),
    [("version=3\nnode.id=1\nrelease=7.1\n", "release 7.1"), ("version=3\n", "a newer release")],
)
def test_a_newer_format_is_refused_with_the_release_that_reads_it(
    tmp_path: Path, content: str, needed: str
) -> None:
    (tmp_path / "meta.properties").write_text(content)
    why = f"has format 3, and this is release {__version__}, .* up to 2: install {needed}$"
    with pytest.raises(DirectoryMismatch, match=why):
        opened(tmp_path)
    assert (tmp_path / "meta.properties").read_text() == content


def test_a_directory_names_the_newest_release_that_used_it(tmp_path: Path) -> None:
    opened(tmp_path).close()
    meta = tmp_path / "meta.properties"
    before = meta.read_text()
    assert f"release={__version__}\n" in before
    meta.write_text(before.replace(f"release={__version__}\n", ""))  # as the release before does
    opened(tmp_path).close()
    assert meta.read_text() == before


def test_a_full_disk_does_not_prevent_the_start_of_a_new_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path).close()
    meta = tmp_path / "meta.properties"
    meta.write_text(meta.read_text().replace(f"release={__version__}\n", ""))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(OsDisk, "replace_file", full)
    opened(tmp_path).close()


def test_older_releases_refuse_a_directory_whose_metadata_began_again(tmp_path: Path) -> None:
    """They do not know the other id, and would vote again as who they were."""
    data = opened(tmp_path)
    assert (tmp_path / "meta.properties").read_text().startswith("version=1\n")
    data.renew_quorum_directory(b"2" * 16)
    data.close()
    assert (tmp_path / "meta.properties").read_text().startswith("version=2\n")
    data = opened(tmp_path)
    assert (data.directory_id, data.quorum_directory_id) == (DIRECTORY_ID, b"2" * 16)
    data.close()


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    data = opened(tmp_path)
    with pytest.raises(DirectoryLocked, match=f"in use by process {os.getpid()}"):
        opened(tmp_path)
    script = """
        import sys
        from barnabas.log import DataDirectory, DirectoryLocked, OsDisk
        try:
            DataDirectory.open(
                OsDisk(), sys.argv[1], node_id=1, new_cluster_id="", new_directory_id=bytes(16)
            )
        except DirectoryLocked as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"in use by process {os.getpid()}" in done.stdout
    data.close()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_deleting_the_lock_file_admits_no_second_owner(tmp_path: Path) -> None:
    data = opened(tmp_path)
    (tmp_path / ".lock").unlink()
    with pytest.raises(DirectoryLocked, match="in use by process"):
        opened(tmp_path)
    assert not (tmp_path / ".lock").exists()
    data.close()
    opened(tmp_path).close()
    assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_an_owner_that_locks_the_file_only_is_respected(tmp_path: Path) -> None:
    """As an earlier version does, and as a network file system makes the only way."""
    with (tmp_path / ".lock").open("w") as file:
        file.write("123\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DirectoryLocked, match="in use by process 123"):
            opened(tmp_path)
    opened(tmp_path).close()


def test_where_directories_can_not_be_locked_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def for_writing_only(fd: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, "not open for writing")
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", for_writing_only)
    data = opened(tmp_path)
    with pytest.raises(DirectoryLocked):
        opened(tmp_path)
    data.close()
    opened(tmp_path).close()


def test_partitions_are_found_by_name(tmp_path: Path) -> None:
    data = opened(tmp_path)
    for name in ("a-0", "a-10", "b-c-3", "x", "-1", "a-b", "lost+found"):
        (tmp_path / name).mkdir()
    (tmp_path / "file-0").write_text("")
    assert data.partitions() == [("a", 0), ("a", 10), ("b-c", 3)]
    assert data.partition_path("b-c", 3) == f"{tmp_path}/b-c-3"


def test_delete_and_create_again(tmp_path: Path) -> None:
    data = opened(tmp_path)
    path = data.partition_path("t", 0)
    log = Log.open(OsDisk(), path, LogConfig(), 0)
    put(log, b"old")
    log.abandon()
    first = data.delete_partition("t", 0)
    assert data.partitions() == []
    log = Log.open(OsDisk(), path, LogConfig(), 0)
    assert values(log) == []
    put(log, b"new")
    log.abandon()
    second = data.delete_partition("t", 0)
    assert len(list(tmp_path.glob("*-delete"))) == 2
    for job in (first, second, data.delete_partition("t", 0)):
        job.run()
        assert job.error is None
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_interrupted_deletions_are_finished_after_the_next_start(tmp_path: Path) -> None:
    data = opened(tmp_path)
    name = "x" * 245
    log = Log.open(OsDisk(), data.partition_path(name, 1234567), LogConfig(), 0)
    put(log, b"old")
    log.abandon()
    data.delete_partition(name, 1234567)
    assert data.leftovers is None
    data.close()
    data = opened(tmp_path)
    assert data.leftovers is not None
    data.leftovers.run()
    assert data.leftovers.error is None
    assert not list(tmp_path.glob("*-delete"))


def test_a_path_that_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(StorageError, match="data directory"):
        opened(tmp_path / "f")
