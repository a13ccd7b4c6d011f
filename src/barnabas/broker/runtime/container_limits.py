"""What a container may use: memory and CPUs, by the control groups of Linux, version 2 or 1.

Inside a container the kernel still tells the size of the whole machine. A node that believed it
would be killed as soon as clients fill the memory that it allows them.
"""

import os
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")

_UNLIMITED_BYTES = 1 << 60
"""Version 1 says "no limit" by a number close to 2^63."""


class ContainerLimits(NamedTuple):
    """None where nothing is limited."""

    memory_bytes: int | None
    cpus: float | None


NO_LIMITS = ContainerLimits(None, None)


def container_limits(root: Path = ROOT, own_group: Path = OWN_GROUP) -> ContainerLimits:
    """The lowest limits of this process's control group and all groups above it."""
    memory: list[int] = []
    cpus: list[float] = []
    for folder in _folders(root, own_group):
        memory += _memory(folder)
        cpus += _cpus(folder)
    return ContainerLimits(min(memory, default=None), min(cpus, default=None))


def machine_memory_bytes() -> int | None:
    """That of the machine; None if it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _folders(root: Path, own_group: Path) -> list[Path]:
    """Where limits may stand. In a container the own group is usually the root of what it sees."""
    try:
        lines = own_group.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    folders = [root, root / "memory", root / "cpu", root / "cpu,cpuacct"]
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        base = root if number == "0" else root / controllers
        if number != "0" and not {"memory", "cpu"} & set(controllers.split(",")):
            continue
        relative = Path(path.lstrip("/"))
        if ".." in relative.parts:  # a group outside of what this namespace sees
            continue
        folders += [base / part for part in (relative, *relative.parents)]
    return list(dict.fromkeys(folders))


def _memory(folder: Path) -> list[int]:
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    found = [_number(_read(folder / name)) for name in names]
    return [limit for limit in found if limit is not None and 0 < limit < _UNLIMITED_BYTES]


def _cpus(folder: Path) -> list[float]:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:  # version 1
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    allowed, of = _number(quota), _number(period)
    return [allowed / of] if allowed is not None and allowed > 0 and of else []


def _number(text: str) -> int | None:
    """None for `max`, -1 and files that do not exist."""
    return int(text) if text.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
