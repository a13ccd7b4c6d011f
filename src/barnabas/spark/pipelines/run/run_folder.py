"""The folder of a pipeline: what it keeps between runs, and its status.

    FOLDER/NAME/checkpoint/   Spark's checkpoint: progress and state
    FOLDER/NAME/status.json   its last status, for `barnabas pipeline status`
    FOLDER/NAME/schemas.json  the registered schemas that its columns are from (`kept_schemas`)
    FOLDER/NAME/lock          locked by the process that runs it

Checkpoints, and only they, may be elsewhere, on a file system that a Spark cluster shares.
"""

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barnabas.spark.pipelines.errors.pipeline_error import PipelineError
from barnabas.spark.pipelines.kept_schemas import KeptSchemas
from barnabas.spark.pipelines.writer import Writer

DEFAULT = Path(".barnabas", "pipelines")
"""In the folder of the definitions."""


@dataclass(frozen=True)
class RunFolder:
    """The folders of all pipelines of a path."""

    folder: Path
    checkpoints: str | None = None
    """The URL of the folder of checkpoints, if they are elsewhere."""

    @classmethod
    def of(cls, definitions: Path, checkpoints: str | None) -> "RunFolder":
        """The folders for a file or folder of definitions; `checkpoints` is the user's option."""
        default = (definitions if definitions.is_dir() else definitions.parent) / DEFAULT
        if checkpoints is None:
            return cls(default.resolve())
        if "://" in checkpoints:
            return cls(default.resolve(), checkpoints.rstrip("/"))
        return cls(Path(checkpoints).resolve())

    def checkpoint_of(self, name: str) -> str:
        if self.checkpoints is not None:
            return f"{self.checkpoints}/{name}"
        return str(self.folder / name / "checkpoint")

    def tables_of(self, name: str) -> str | None:
        """Where its tables store records that they have read; None if checkpoints are at a URL."""
        return None if self.checkpoints is not None else str(self.folder / name / "tables")

    def schemas_of(self, name: str) -> KeptSchemas:
        """Which versions of registered schemas its sources have their columns from."""
        has_run = self.has_checkpoint(name) is not False
        return KeptSchemas(self.folder / name / "schemas.json", has_run)

    def writer_of(self, name: str) -> Writer:
        """The identity of a pipeline in the tables that it writes."""
        return Writer(name, str(self.folder), self.checkpoint_of(name))

    def has_checkpoint(self, name: str) -> bool | None:
        """Whether it has run before; None if that can't be seen from here."""
        return self.writer_of(name).has_checkpoint

    def names(self) -> list[str]:
        """The pipelines that have run."""
        return sorted(each.parent.name for each in self.folder.glob("*/status.json"))

    def status_of(self, name: str) -> dict[str, Any]:
        """Its last status; empty if there is none."""
        try:
            found = json.loads((self.folder / name / "status.json").read_text("utf-8"))
        except FileNotFoundError:
            return {}
        assert isinstance(found, dict)
        return found

    def write_status(self, name: str, status: dict[str, Any]) -> None:
        """Replace it atomically."""
        target = self.folder / name / "status.json"
        new = target.with_name(f".status-{os.getpid()}.json")
        new.write_text(json.dumps(status), "utf-8")
        new.replace(target)

    def is_running(self, name: str) -> bool:
        """Whether a process on this machine runs it now."""
        return self.writer_of(name).is_running

    def lock(self, name: str) -> int:
        """Lock it, until the descriptor is closed or the process ends."""
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        if (
            self.folder.parts[-len(DEFAULT.parts) :] == DEFAULT.parts
        ):  # the folder may be in a repository
            (self.folder.parent / ".gitignore").write_text("*\n")
        descriptor = os.open(self.folder / name / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise self._runs_already(name) from None
        return descriptor

    def check_not_running(self, name: str) -> None:
        """Raise if a process on this machine runs it now."""
        if self.is_running(name):
            raise self._runs_already(name)

    def _runs_already(self, name: str) -> PipelineError:
        pid = self.status_of(name).get("pid", "?")
        return PipelineError(f"pipeline {name} is already running (process {pid})")

    def check_can_reset(self, name: str) -> None:
        """Raise if its checkpoint can't be deleted from here."""
        if self.checkpoints is not None:
            raise PipelineError(
                f"its checkpoints are in {self.checkpoints}: delete {self.checkpoint_of(name)} "
                "with the tools of that file system"
            )

    def reset(self, name: str) -> bool:
        """Delete its folder, so that the next run starts over; False if there was none."""
        self.check_can_reset(name)
        if not (self.folder / name).is_dir():
            return False
        descriptor = self.lock(name)
        try:
            # At once: half of a checkpoint, if this process dies, would be a wrong position.
            checkpoint = Path(self.checkpoint_of(name))
            if checkpoint.is_dir():
                deleted = checkpoint.with_name("checkpoint.deleted")
                if deleted.is_dir():
                    shutil.rmtree(deleted)
                checkpoint.rename(deleted)
            shutil.rmtree(self.folder / name)
        finally:
            os.close(descriptor)
        return True


def statuses(folder: RunFolder, defined_in: Path | None = None) -> list[dict[str, Any]]:
    """The statuses of pipelines that run or have run, or of those of one file."""
    found = []
    for name in folder.names():
        status = folder.status_of(name)
        if defined_in is not None and status.get("defined_in") != str(defined_in.resolve()):
            continue
        if not folder.is_running(name) and status.get("state") in ("new", "running", "waiting"):
            status["state"] = "died"
            status["error"] = (
                f"its process {status.get('pid', '?')} ended unexpectedly: run it again, and it "
                "continues from its checkpoint"
            )
        found.append(status)
    return found
