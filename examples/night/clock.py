"""The wall clock of the machine, as the processes of the shop see it, set while they run.

A library that is loaded before the others adds an offset, which is in a file that all of them map.
It takes a C compiler to build; without one, nobody sets the clock.
"""

import mmap
import os
import struct
import subprocess
from pathlib import Path
from shutil import which
from typing import Self

_OFFSET = struct.Struct("=q")
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_s;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("NIGHT_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (fd < 0) return;
    void *found = mmap(0, sizeof *offset_s, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (found != MAP_FAILED) offset_s = found;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real) begin();
    int result = real(clock, now);
    if (!result && clock == CLOCK_REALTIME && offset_s) now->tv_sec += *offset_s;
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &found)) return -1;
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec found;
    if (clock_gettime(CLOCK_REALTIME, &found)) return -1;
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""


class Clock:
    """Of all processes that are started with `environment`; in a directory that stays there."""

    def __init__(self, directory: Path) -> None:
        self.environment: dict[str, str] = {}
        compiler = which("cc") or which("gcc")
        if compiler is None:
            return
        source, library, offset = (directory / name for name in ("clock.c", "clock.so", "clock"))
        source.write_text(_SOURCE)
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True)
        offset.write_bytes(_OFFSET.pack(0))
        with offset.open("r+b") as file:
            self._offset = mmap.mmap(file.fileno(), _OFFSET.size)
        self.environment = {"LD_PRELOAD": str(library), "NIGHT_CLOCK": str(offset)}

    @property
    def can_be_set(self) -> bool:
        return bool(self.environment)

    def set(self, offset_s: int) -> None:
        """Let it show this much more than the time; less, if it is negative."""
        self._offset[:] = _OFFSET.pack(offset_s)

    # -- for all that is started from here -------------------------------------------------------

    def __enter__(self) -> Self:
        os.environ |= self.environment
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.environment:
            del os.environ[name]
