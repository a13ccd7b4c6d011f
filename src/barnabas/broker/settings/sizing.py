"""Defaults of a node that fit a small container, and a line that says so.

A node needs about 60 MB for itself. What clients may make it hold on top of that is limited by
settings whose defaults are for a machine. Where the memory of the container, or of a small machine,
would not hold them, the defaults are lowered to shares of it; a setting that was given is kept.
"""

from collections.abc import Mapping
from typing import NamedTuple

_MB = 1 << 20
_OWN_BYTES = 64 * _MB
"""Interpreter, code and metadata of some thousand partitions."""
_ENOUGH_CPUS = 2


class Share(NamedTuple):
    """The part of the memory that a setting may take, but at least so many bytes."""

    percent: int
    least: int


_SHARES = {
    "queued.max.request.bytes": Share(25, 8 * _MB),
    "queued.max.response.bytes": Share(25, 8 * _MB),
    "log.cleaner.dedupe.buffer.size": Share(10, 4 * _MB),
    "socket.request.max.bytes": Share(15, 4 * _MB),
}
"""Together 75 percent of what is left beside the node itself; the rest is for the page cache."""


class Sizing(NamedTuple):
    """Defaults in place of the usual ones, and the sentence for the log."""

    defaults: dict[str, str]
    said: str


def size_for(
    memory_bytes: int | None,
    cpus: float | None,
    usual: Mapping[str, str | None],
    given: Mapping[str, str],
    where: str,
) -> Sizing:
    """Choose. `usual` are the defaults, `given` the settings of the operator."""
    chosen: dict[str, str] = {}
    if memory_bytes is not None:
        left = max(0, memory_bytes - _OWN_BYTES)
        for name, (percent, least) in _SHARES.items():
            fitting = max(least, left * percent // 100)
            if name not in given and fitting < int(usual[name] or 0):
                chosen[name] = str(fitting)
    return Sizing(chosen, _said(memory_bytes, cpus, chosen, given, where))


def _said(
    memory_bytes: int | None,
    cpus: float | None,
    chosen: Mapping[str, str],
    given: Mapping[str, str],
    where: str,
) -> str:
    memory = "unknown memory" if memory_bytes is None else f"{memory_bytes // _MB} MB of memory"
    processors = "" if cpus is None else f" and {cpus:g} CPU{'s' * (cpus != 1)}"
    lowered = ", ".join(f"{name}={value}" for name, value in sorted(chosen.items()))
    kept = sorted(_SHARES.keys() & given.keys())
    parts = [
        f"{where} has {memory}{processors}",
        f"chosen to fit: {lowered}" if lowered else "the usual limits fit",
    ]
    if kept:
        parts.append(f"kept as set: {', '.join(kept)}")
    if cpus is not None and cpus < _ENOUGH_CPUS:
        parts.append("1 thread for compression")
    return "; ".join(parts)
