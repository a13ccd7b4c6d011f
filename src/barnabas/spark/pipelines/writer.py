"""The identity of a pipeline for the outputs that it writes: name, folder and checkpoint."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Writer:
    """A pipeline that writes. Tables record it, so that errors can name their owner."""

    pipeline: str
    folder: str
    """The folder of the run (`RunFolder`), with its lock and its status."""
    checkpoint: str
    """A path, or a URL where it is on a file system that a Spark cluster shares."""

    @property
    def has_checkpoint(self) -> bool | None:
        """Whether it has run before; None if the checkpoint is not on this machine."""
        return None if self._is_remote else (Path(self.checkpoint) / "offsets").is_dir()

    @property
    def finished_batches(self) -> int:
        """How many batches it has finished; 0 if the checkpoint is not on this machine."""
        done = Path(self.checkpoint) / "commits"
        if self._is_remote or not done.is_dir():
            return 0
        return max(
            (int(each.name) + 1 for each in done.iterdir() if each.name.isdecimal()), default=0
        )

    @property
    def query_id(self) -> str | None:
        """The id of the query that has its checkpoint; None if none has on this machine."""
        return query_of(self.checkpoint)

    @property
    def is_running(self) -> bool:
        """Whether a process on this machine runs it now."""
        try:
            descriptor = os.open(Path(self.folder) / self.pipeline / "lock", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def _is_remote(self) -> bool:
        return "://" in self.checkpoint


def query_of(checkpoint: str) -> str | None:
    """The id of the query that has a checkpoint; None if none is there, or not on this machine."""
    metadata = Path(checkpoint.removeprefix("file://")) / "metadata"
    try:
        found = json.loads(metadata.read_text("utf-8"))
    except FileNotFoundError:
        return None
    return str(found["id"])
