"""`set-aside/`: what was taken out of a log, kept for people to look at.

    set-aside/<topic>-<partition>/<time>-<reason>/<files>

    time         UTC, as in 20261116T024559.123Z
    reason       truncated    the end of a log: whole segments, and the rest of one as
                              <first offset>.log
                 damaged      bytes that are no valid batch: <first lost offset>.bytes
                 unreadable   batches that can't be decoded: <first offset>-<last offset>.batch

Earlier versions wrote set-aside/<topic>-<partition>.<milliseconds>/<files>: these are entries too.

The broker removes entries by age and by total size; see `expired_entries`.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from barnabas.log.storage import Disk

SET_ASIDE = "set-aside"
_TIME_FORMAT = "%Y%m%dT%H%M%S"
_PARTITION = re.compile(r".+-\d+")
_EARLIER_LAYOUT = re.compile(r".+-\d+\.(\d{13})")
_KEPT_WHATEVER_THE_SIZE_MS = 24 * 3600 * 1000


class SetAsideReason(StrEnum):
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"


def set_aside_path(disk: Disk, partition_path: str, now_ms: int, reason: SetAsideReason) -> str:
    """A directory that does not exist yet, for what is taken out of a partition's log now."""
    data, slash, partition = partition_path.rpartition("/")
    seconds, milliseconds = divmod(now_ms, 1000)
    time = datetime.fromtimestamp(seconds, UTC).strftime(_TIME_FORMAT)
    parent = f"{data}{slash}{SET_ASIDE}/{partition}"
    stem = path = f"{parent}/{time}.{milliseconds:03d}Z-{reason}"
    number = 1
    while disk.exists(path):
        number += 1
        path = f"{stem}-{number}"
    return path


def sync_set_aside(disk: Disk, path: str) -> None:
    """Bring the names in a directory of `set_aside_path`, and its own, to stable storage."""
    for _ in range(4):  # the entry, the partition, set-aside/ and the data directory
        disk.sync_directory(path or "/")
        path = path.rpartition("/")[0]


def expired_entries(
    disk: Disk, data_path: str, *, now_ms: int, retention_ms: int, max_bytes: int = -1
) -> list[str]:
    """The directories to remove: entries beyond the retention time, and the oldest beyond a total
    size.

    A negative `max_bytes` means no limit. By size, no entry is removed in its first day: a person
    has to have time to see it. A partition's directory is removed once it is empty. Everything else
    is left alone. Raises OSError.
    """
    parent = f"{data_path}/{SET_ASIDE}"
    if not disk.exists(parent):
        return []
    before_ms = now_ms - retention_ms
    expired: list[str] = []
    entries: list[_Entry] = []

    def judge(time_ms: int, path: str) -> None:
        if time_ms < before_ms:
            expired.append(path)
        else:
            entries.append(_Entry(time_ms, path, sum(disk.list_files(path).values())))

    for name in disk.list_directories(parent):
        path = f"{parent}/{name}"
        if earlier := _EARLIER_LAYOUT.fullmatch(name):
            judge(int(earlier[1]), path)
        elif _PARTITION.fullmatch(name):
            others = len(disk.list_files(path))
            kept = len(entries)
            for child in disk.list_directories(path):
                time_ms = _time_ms(child)
                if time_ms >= 0:
                    judge(time_ms, f"{path}/{child}")
                else:
                    others += 1
            if not others and len(entries) == kept:
                expired.append(path)
    if max_bytes >= 0:
        surplus = sum(entry.size for entry in entries) - max_bytes
        for entry in sorted(entries):
            if surplus <= 0 or entry.time_ms >= now_ms - _KEPT_WHATEVER_THE_SIZE_MS:
                break
            expired.append(entry.path)
            surplus -= entry.size
    return expired


class _Entry(NamedTuple):
    time_ms: int
    path: str
    size: int


def _time_ms(name: str) -> int:
    """The time in the name of an entry; -1 if it is another directory."""
    time, _, milliseconds = name.partition("Z-")[0].partition(".")
    try:
        seconds = datetime.strptime(time, _TIME_FORMAT).replace(tzinfo=UTC).timestamp()
        return int(seconds) * 1000 + int(milliseconds)
    except ValueError:
        return -1
