"""Lines of files that grow, as a connector: which file, and how far.

A file is known by its device and inode, so it stays the same when it is renamed. A file that is
shorter than what was read of it, or that begins with other bytes, is another one: it was truncated
and written again, or its inode was used again.
"""

import glob
import logging
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from barnabas.errors import BarnabasError
from barnabas.spark.connector.connector import Connector, Position
from barnabas.spark.pipelines.pipeline_end import resolved_path

_log = logging.getLogger(__name__)

FileState = dict[str, Any]
"""`path`, `offset`, `generation`, and `head`: a checksum of its first `head_length` bytes."""

_HEAD = 256
_BLOCK = 1 << 16
_LONGEST_LINE = 16 << 20
_MOST_TASKS = 8


class LogFileLostError(BarnabasError):
    """A file whose lines are to be read is gone, or has other content."""


@dataclass
class LogLines(Connector):
    """Lines of the files that match a pattern."""

    pattern: str
    from_end: bool
    max_bytes_per_batch: int
    skip_missing: bool
    _limits: dict[str, int] | None = field(default=None, init=False)
    """How long files were when a bounded run began."""
    _seen: dict[str, tuple[Path, int]] = field(default_factory=dict, init=False, compare=False)
    """Where files were when `latest` was last asked, and how long."""

    def describe(self) -> str:
        return f"lines of {self.pattern}"

    def schema(self) -> str:
        return "value STRING, file STRING, offset BIGINT"

    def resolved(self, folder: Path) -> Self:
        return replace(self, pattern=resolved_path(self.pattern, folder))

    # -- positions --------------------------------------------------------------------------------

    def initial(self) -> Position:
        files: dict[str, FileState] = {}
        if self.from_end:
            for identity, path in self._matching().items():
                end = _last_line_end(path, 0, path.stat().st_size)
                files[identity] = _state(path, end, 0)
        return {"files": files}

    def bound(self, start: Position) -> None:
        present = self._present(start["files"])
        self._limits = {each: path.stat().st_size for each, path in present.items()}

    def latest(self, start: Position) -> Position:
        known: Mapping[str, FileState] = start["files"]
        files: dict[str, FileState] = {}
        left = self.max_bytes_per_batch
        present = self._present(known)
        self._warn_of_lost(known, present)
        for identity, path in sorted(present.items(), key=lambda each: str(each[1])):
            try:
                self._seen[identity] = path, path.stat().st_size
                state = self._advanced(identity, path, known.get(identity), left)
            except FileNotFoundError:  # since it was listed
                continue
            if state is None:
                continue
            before = known.get(identity)
            is_same = before is not None and before["generation"] == state["generation"]
            left -= state["offset"] - (before["offset"] if before and is_same else 0)
            files[identity] = state
        return {"files": files}

    def _advanced(
        self, identity: str, path: Path, before: FileState | None, left: int
    ) -> FileState | None:
        """How far a file can be read now; None if it is new and has no line yet."""
        size = path.stat().st_size
        if self._limits is not None:
            if identity not in self._limits:
                return before
            size = min(size, self._limits[identity])
        offset, generation = 0, 0
        if before is not None:
            offset, generation = before["offset"], before["generation"]
            if path.stat().st_size < offset or not _begins_as(path, before):
                offset, generation = 0, generation + 1
        end = _last_line_end(path, offset, min(size, offset + max(left, 0)))
        if end == offset and left == self.max_bytes_per_batch:
            # A line that is longer than a batch may be is a batch by itself.
            end = _first_line_end(path, offset, size)
        if before is None and end == 0:
            return None
        if before is not None and end == offset and generation == before["generation"]:
            return {**before, "path": str(path)} if before["path"] != str(path) else before
        return _state(path, end, generation)

    # -- files ------------------------------------------------------------------------------------

    def _matching(self) -> dict[str, Path]:
        found = {}
        for name in glob.glob(self.pattern, recursive=True):  # noqa: PTH207 - patterns may be absolute
            path = Path(name)
            if path.is_file():
                found[_identity(path.stat())] = path
        return found

    def _present(self, known: Mapping[str, FileState]) -> dict[str, Path]:
        """Files that match, and those that did and were renamed."""
        found = self._matching()
        for identity, state in known.items():
            if identity not in found:
                path = _find(identity, Path(state["path"]))
                if path is not None:
                    found[identity] = path
        return found

    def _warn_of_lost(self, known: Mapping[str, FileState], present: Mapping[str, Path]) -> None:
        """Say which files are gone that were not read to their end."""
        for identity in (self._seen.keys() | known.keys()) - present.keys():
            offset = known[identity]["offset"] if identity in known else 0
            path, size = self._seen.pop(identity, (None, 0))
            if path is None:  # since this process has started, it was never there
                _log.warning(
                    "%s is gone: lines that were added after byte %d are not read; keep rotated "
                    "files in their folder for longer",
                    *(known[identity]["path"], offset),
                )
            elif size > offset:
                _log.warning(
                    "%s is gone, and its last %d bytes are not read; keep rotated files in their "
                    "folder for longer",
                    *(path, size - offset),
                )

    # -- reading ----------------------------------------------------------------------------------

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        ranges = [
            (identity, state)
            for identity, state in end["files"].items()
            if _first(start["files"].get(identity), state) < state["offset"]
        ]
        return [
            (start, {"files": dict(ranges[each::_MOST_TASKS])})
            for each in range(min(_MOST_TASKS, len(ranges)))
        ]

    def read(self, start: Position, end: Position) -> Iterator[tuple[str, str, int]]:
        for identity, state in end["files"].items():
            first = _first(start["files"].get(identity), state)
            path = _find(identity, Path(state["path"]))
            if path is None or path.stat().st_size < state["offset"] or not _begins_as(path, state):
                if self.skip_missing:
                    continue
                raise LogFileLostError(
                    f"{state['path']} is gone or was replaced before bytes {first} to "
                    f"{state['offset']} were read: keep rotated files for longer; "
                    "skip_missing=True continues without them"
                )
            yield from _lines(path, first, state)


def _lines(path: Path, first: int, state: FileState) -> Iterator[tuple[str, str, int]]:
    with path.open("rb") as file:
        file.seek(first)
        at, end, rest = first, state["offset"], b""
        while at + len(rest) < end:
            block = file.read(min(_BLOCK, end - at - len(rest)))
            if not block:
                raise LogFileLostError(f"{path} was truncated while it was read")
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r").decode("utf-8", "replace"), state["path"], at
                at += len(line) + 1
        if rest:  # a line that is longer than any may be, cut
            yield rest.decode("utf-8", "replace"), state["path"], at


def _first(before: FileState | None, state: FileState) -> int:
    if before is None or before["generation"] != state["generation"]:
        return 0
    return int(before["offset"])


def _state(path: Path, offset: int, generation: int) -> FileState:
    length = min(offset, _HEAD)
    return {
        "path": str(path),
        "offset": offset,
        "generation": generation,
        "head": _checksum(path, length),
        "head_length": length,
    }


def _begins_as(path: Path, state: FileState) -> bool:
    return bool(_checksum(path, state["head_length"]) == state["head"])


def _checksum(path: Path, length: int) -> int:
    with path.open("rb") as file:
        return zlib.crc32(file.read(length))


def _identity(status: os.stat_result) -> str:
    return f"{status.st_dev:x}:{status.st_ino:x}"


def _find(identity: str, path: Path) -> Path | None:
    """A file by its identity: at its path, or under another name in the same folder."""
    try:
        if _identity(path.stat()) == identity:
            return path
    except FileNotFoundError:
        pass
    try:
        with os.scandir(path.parent) as entries:
            for entry in entries:
                if entry.is_file() and _identity(entry.stat()) == identity:
                    return Path(entry.path)
    except FileNotFoundError:
        return None
    return None


def _first_line_end(path: Path, first: int, end: int) -> int:
    """The end of the line that begins at an offset, or of as much as a line may have.

    The offset itself if the line is not complete.
    """
    limit = min(end, first + _LONGEST_LINE)
    with path.open("rb") as file:
        file.seek(first)
        for low in range(first, limit, _BLOCK):
            found = file.read(min(_BLOCK, limit - low)).find(b"\n")
            if found >= 0:
                return low + found + 1
    return limit if limit - first == _LONGEST_LINE else first


def _last_line_end(path: Path, first: int, end: int) -> int:
    """The end of the last line that is complete, between two offsets; the first if none is."""
    with path.open("rb") as file:
        while end > first:
            low = max(first, end - _BLOCK)
            file.seek(low)
            found = file.read(end - low).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            end = low
    return first
