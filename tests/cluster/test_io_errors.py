"""A disk that returns I/O errors under a leader: leadership moves away, and nothing is lost.

The errors are real for the node: a library that is loaded before the others fails the writes and
syncs of chosen files with EIO.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.conftest import TOPIC, hurt
from tests.support.cluster import ClusterProcesses
from tests.support.machine import find_tool, missing
from tests.support.wait import LIMIT_S, wait_until

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Whether the file has a name that begins with what is in the file $FAILING_FILES. */
static int fails(int fd) {
    char link[64], path[4096], prefix[4096];
    const char *from = getenv("FAILING_FILES");
    int list = from ? open(from, O_RDONLY) : -1;
    if (list < 0) return 0;
    ssize_t size = read(list, prefix, sizeof prefix);
    close(list);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (size <= 0 || length < size || memcmp(path, prefix, size)) return 0;
    errno = EIO;
    return 1;
}

#define WRITE(name) ssize_t name(int fd, const void *data, size_t n, off64_t at) { \
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, #name); \
    return fails(fd) ? -1 : real(fd, data, n, at); }
#define SYNC(name) int name(int fd) { \
    int (*real)(int) = dlsym(RTLD_NEXT, #name); return fails(fd) ? -1 : real(fd); }

WRITE(pwrite)
WRITE(pwrite64)
SYNC(fsync)
SYNC(fdatasync)
"""


class FailingFiles:
    """Files whose writes fail in processes that are started with it."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        compiler = find_tool("cc")
        if compiler is None:
            pytest.skip(missing("cc"))
        directory.mkdir()
        source, library = directory / "failing.c", directory / "failing.so"
        source.write_text(_SOURCE)
        command = [str(compiler), "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        # It looks for the assembler and the linker on the path.
        path = {**os.environ, "PATH": os.defpath}
        subprocess.run(command, env=path, check=True, timeout=LIMIT_S)
        self._list = directory / "files"
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("FAILING_FILES", str(self._list))

    @contextmanager
    def failing(self, prefix: Path) -> Iterator[None]:
        """While it lasts, nothing can be written to files below it."""
        ready = self._list.with_suffix(".new")
        ready.write_text(f"{prefix}/")
        ready.rename(self._list)
        try:
            yield
        finally:
            self._list.unlink()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingFiles:
    return FailingFiles(tmp_path / "preloaded", monkeypatch)


def test_a_failing_leader(files: FailingFiles, cluster: ClusterProcesses) -> None:
    with hurt(cluster, partitions=1) as workload:
        leader = cluster.leader_of(TOPIC)
        with files.failing(leader.data / f"{TOPIC}-0"):
            wait_until(
                lambda: cluster.leader_of(TOPIC) is not leader, "the leader with EIO still leads"
            )
            workload.wait_for_progress()
        leader.stop()  # a disk that failed is not trusted until the node starts again
        cluster.start()
