"""A table of Parquet files that readers of the folder see correctly, also after a crash.

    TABLE/day=2026-01-01/*.parquet    the rows: every file that a reader lists counts
    TABLE/_barnabas/owner.json        the query that owns the table, and its checkpoint
    TABLE/_barnabas/batch.json        the last decided batch, and where its files belong
    TABLE/_barnabas/staged/ID/        files that do not count yet
    TABLE/_barnabas/replaced/ID/      files that no longer count
    TABLE/_barnabas/lock              held while files are moved

Spark, pyarrow and pandas skip folders that start with `_`. A batch is staged, then decided by
replacing `batch.json` in one step, then its files are moved to their places, each in one step. A
batch that is repeated after a failure is written again if it was not decided, and otherwise only
moved. So every row is there once when its batch has ended, and never twice; while a batch is being
moved, or after a crash at that moment until the next run, some of its files are not there yet.

Small files are replaced by large ones a folder at a time: the new folder, with links to the files
that stay, is exchanged with the old one in one step. A reader that listed the old one before and
opens its files later gets an error. Only a reader that skips names which vanish between its listing
and its look at each file, as Spark and Arrow do, can miss the replaced files in that moment.

Tables that are not in a file system of this machine are not covered.
"""

import fcntl
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.parquet.file_kind import PARQUET, FileKind
from barnabas.spark.pipelines.parquet.folder_exchange import swap
from barnabas.spark.pipelines.parquet.table_owner import Owner, read_owner, write_owner
from barnabas.spark.pipelines.writer import Writer

OURS = "_barnabas"
OF_SPARK = "_spark_metadata"

_REPLACED_KEPT_S = 60.0  # for readers that are listing them


class TableInUseError(BarnabasError):
    """The table is being written or compacted."""


@dataclass(frozen=True)
class Batch:
    """A decided batch: its query, and where its files go."""

    query: str
    number: int
    staged: str
    moves: tuple[tuple[str, str], ...]


class ParquetTable:
    """The files of one table."""

    def __init__(self, folder: Path, kind: FileKind = PARQUET) -> None:
        self.folder = folder.absolute()
        self._kind = kind
        self._ours = self.folder / OURS
        self._staged = self._ours / "staged"
        self._replaced = self._ours / "replaced"
        self._decision = self._ours / "batch.json"
        self._owner = self._ours / "owner.json"

    # -- whose it is ------------------------------------------------------------------------------

    @property
    def owner(self) -> Owner | None:
        """The owner of the table, if it has any batch."""
        found, last = read_owner(self._owner), self.last_batch
        return Owner(last.query) if found is None and last is not None else found

    def check_owner(self, query: str | None, writer: Writer | None) -> None:
        """Raise if it belongs to another query than this one, which may not have started yet."""
        owner = self.owner
        if owner is None or owner.is_same(query, writer):
            return
        if owner.is_former(writer):
            raise InvalidArgument(
                f"the table in {self.folder} has the rows of an earlier run, and would have them "
                "twice: move it away, or run `barnabas pipeline reset` with --tables"
            )
        raise InvalidArgument(
            f"the table in {self.folder} belongs to {owner.describe()}: give this one a different "
            "path, or run it with the other's checkpoint (--checkpoints)"
        )

    def check_present(self, batches: int) -> None:
        """Raise if it does not exist, although its query has written this many batches.

        To let it start with new rows only, the user creates an empty folder `_barnabas`.
        """
        if not batches or self._owner.exists() or self._decision.exists():
            return
        if self._ours.is_dir() and not any(self._ours.iterdir()):
            return
        raise InvalidArgument(
            f"the table in {self.folder}, or its folder {OURS}, is missing, although {batches} "
            f"batch{'es were' if batches > 1 else ' was'} written: restore it, or start over "
            "(`barnabas pipeline reset`). To keep only new rows, move away the files that are "
            "there, and "
            f"`mkdir -p {self._ours}`"
        )

    def check_idle(self) -> None:
        """Raise if it is being written or compacted."""
        if self._ours.is_dir():
            with self._alone():
                pass

    def delete(self) -> None:
        """Delete all of it, unless it is in use."""
        with self._alone():
            shutil.rmtree(self.folder)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (
            self.compacting() as is_not_compacted,
            self._flock("lock", fcntl.LOCK_EX | fcntl.LOCK_NB) as is_not_written,
        ):
            if not (is_not_compacted and is_not_written):
                raise TableInUseError(
                    f"the table in {self.folder} is being written or compacted: stop that first"
                )
            yield

    # -- batches ----------------------------------------------------------------------------------

    def add(
        self,
        query: str,
        number: int,
        write: Callable[[Path], int],
        writer: Writer | None = None,
    ) -> list[Path]:
        """Add the rows of a batch, unless it is there; returns the partitions that got new rows.

        The query of the first batch owns the table. `write` writes Parquet files to a folder, and
        returns how many rows they must have.
        """
        if (self.folder / OF_SPARK).exists():
            raise InvalidArgument(
                f"the table in {self.folder} was written by Spark's own sink, whose readers would "
                "not see new files: move it away"
            )
        self.check_present(number)
        self._ours.mkdir(parents=True, exist_ok=True)
        owner = Owner(query, writer)
        with self._locked():
            self.check_owner(query, writer)
            if self.owner != owner:
                write_owner(self._owner, owner)
            if self._is_there(number):
                return []
            shutil.rmtree(self._staged, ignore_errors=True)  # files of undecided batches
        staged = self._staged / uuid.uuid4().hex
        staged.parent.mkdir(exist_ok=True)
        rows = write(staged)
        moves = tuple(self._moves(staged, f"batch-{query[:8]}-{number:08}", rows))
        if self.owner != owner:  # otherwise it was deleted meanwhile
            shutil.rmtree(staged, ignore_errors=True)
            self.check_owner(query, writer)
            self.check_present(number + 1)
        if moves:
            with self._locked():
                # Another run of the same query may have been faster, or have deleted these files.
                if not self._is_there(number):
                    self._decide(Batch(query, number, staged.name, moves))
        shutil.rmtree(staged, ignore_errors=True)
        return sorted({(self.folder / target).parent for _, target in moves})

    @property
    def last_batch(self) -> Batch | None:
        """The last decided batch."""
        try:
            found = json.loads(self._decision.read_text("utf-8"))
        except FileNotFoundError:
            return None
        moves = tuple((source, target) for source, target in found["moves"])
        return Batch(found["query"], found["number"], found["staged"], moves)

    def _is_there(self, number: int) -> bool:
        last = self.last_batch
        if last is None:
            return False
        if last.number > number:
            raise InvalidArgument(
                f"the table in {self.folder} already has batch {last.number}, and the query is at "
                f"batch {number}: was an old checkpoint restored?"
            )
        self._move(last)
        return last.number == number

    def _moves(self, staged: Path, name: str, rows: int) -> Iterator[tuple[str, str]]:
        """Where each file that has rows will be."""
        found = 0
        for index, file in enumerate(self._kind.files(staged)):
            count = self._kind.count(file)
            if count != 0:  # Spark writes an empty file, for its schema
                target = file.relative_to(staged).parent / f"{name}-{index}"
                yield str(file.relative_to(staged)), f"{target}{self._kind.ending(file)}"
            found += rows if count is None else count
        if found < rows:
            raise InvalidArgument(
                f"Spark has written {rows} rows, but only {found} are in {staged}: the table has "
                "to be in a folder that the driver and all workers share"
            )

    def _decide(self, batch: Batch) -> None:
        for source, _ in batch.moves:
            (self._staged / batch.staged / source).stat()
        new = self._decision.with_suffix(".new")
        new.write_text(json.dumps(asdict(batch)), "utf-8")
        new.replace(self._decision)
        self._move(batch)

    def _move(self, batch: Batch) -> None:
        """Move files to their places, unless they are there already."""
        for source, target in batch.moves:
            staged = self._staged / batch.staged / source
            if staged.exists():
                (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
                staged.rename(self.folder / target)

    # -- folders of files -------------------------------------------------------------------------

    def partitions(self) -> Iterator[Path]:
        """The partition folders `column=value/…` that have files."""
        for folder, below, files in os.walk(self.folder):
            below[:] = sorted(each for each in below if "=" in each and each[0] not in "._")
            if not below and files and Path(folder) != self.folder:
                yield Path(folder)

    def stage(self) -> Path:
        """A new folder for files that will replace others."""
        staged = self._replaced / uuid.uuid4().hex
        staged.parent.mkdir(exist_ok=True, parents=True)
        return staged

    def replace(self, partition: Path, old: Sequence[Path], new: Path) -> bool:
        """Replace some files of a partition by those in `new`, atomically.

        `new` is within a folder of `stage`. False if these files are no longer all there.
        """
        with self._locked():
            present = {each.name for each in partition.iterdir()} if partition.is_dir() else set()
            names = {each.name for each in old}
            if not names <= present:
                return False
            for name in sorted(present - names):
                os.link(partition / name, new / name)
            shutil.copymode(partition, new)
            swap(partition, new)
        os.utime(new.parent)  # where the old files are now
        return True

    def sweep(self) -> None:
        """Delete files that were replaced a while ago, and staged ones that were never used.

        The caller holds `compacting`: otherwise, files of another process may be among these.
        """
        if not self._replaced.is_dir():
            return
        for each in self._replaced.iterdir():
            if time.time() - each.stat().st_mtime > _REPLACED_KEPT_S:
                shutil.rmtree(each, ignore_errors=True)

    @contextmanager
    def compacting(self) -> Iterator[bool]:
        """Lock the table for replacing files: one process at a time."""
        self._ours.mkdir(parents=True, exist_ok=True)
        with self._flock("compacting.lock", fcntl.LOCK_EX | fcntl.LOCK_NB) as is_mine:
            yield is_mine

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._flock("lock", fcntl.LOCK_EX):
            yield

    @contextmanager
    def _flock(self, name: str, operation: int) -> Iterator[bool]:
        descriptor = os.open(self._ours / name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(descriptor, operation)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)
