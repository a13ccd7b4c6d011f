"""A folder of files in an object store that has each row once, also after a crash.

    FOLDER/day=2026-01-01/*.json      the rows: every object that a reader lists counts
    FOLDER/_barnabas/owner.json       the query that owns the folder, and its checkpoint
    FOLDER/_barnabas/batch.json       the last decided batch, and where its files belong
    FOLDER/_barnabas/staged/ID-0      files that do not count yet

As in a table on this machine (`parquet/table`), a batch is staged, then decided by writing
`batch.json`, which is there as a whole or not at all, then its files are copied to their places. A
batch that is repeated is written again if it was not decided, and otherwise only copied: the same
bytes under the same names, so that what a reader has seen never changes.

An object store has no locks. That only one run of a query writes is up to who starts it: the
service's leases, or `RunFolder` for a pipeline in the foreground.
"""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from barnabas.errors import DataLost, InvalidArgument
from barnabas.object_store import ObjectStore
from barnabas.spark.pipelines.parquet.file_kind import FileKind
from barnabas.spark.pipelines.parquet.table import Batch
from barnabas.spark.pipelines.parquet.table_owner import Owner, owner_in, owner_text
from barnabas.spark.pipelines.writer import Writer

_OURS = "_barnabas"
_OWNER = f"{_OURS}/owner.json"
_DECISION = f"{_OURS}/batch.json"
_STAGED = f"{_OURS}/staged"


class ObjectTable:
    """The files of one folder."""

    def __init__(self, store: ObjectStore, kind: FileKind) -> None:
        self._store = store
        self._kind = kind

    @property
    def name(self) -> str:
        return self._store.description

    # -- whose it is ------------------------------------------------------------------------------

    @property
    def owner(self) -> Owner | None:
        found = self._store.read(_OWNER)
        return None if found is None else owner_in(found.decode())

    def check_owner(self, query: str | None, writer: Writer | None) -> None:
        """Raise if it belongs to another query than this one, which may not have started yet."""
        owner = self.owner
        if owner is None or owner.is_same(query, writer):
            return
        if owner.is_former(writer):
            raise InvalidArgument(
                f"{self.name} has the rows of an earlier run, and would have them twice: delete "
                "it, or run `barnabas pipeline reset` with --tables"
            )
        raise InvalidArgument(
            f"{self.name} belongs to {owner.describe()}: give this one a different path, or run it "
            "with the other's checkpoint (--checkpoints)"
        )

    def check_present(self, batches: int) -> None:
        """Raise if it is gone, although its query has written this many batches."""
        if batches and self.owner is None:
            raise InvalidArgument(
                f"{self.name}/{_OURS} is missing, although {batches} "
                f"batch{'es were' if batches > 1 else ' was'} written: restore it, or start over "
                "(`barnabas pipeline reset`)"
            )

    def delete(self) -> None:
        """Delete all of it, what says whose it is at last."""
        names = [each.name for each in self._store.list()]
        for name in sorted(names, key=lambda each: (each.startswith(f"{_OURS}/"), each)):
            self._store.delete(name)
        self._store.delete_folders()

    # -- batches ----------------------------------------------------------------------------------

    def add(
        self, query: str, number: int, write: Callable[[Path], int], writer: Writer | None
    ) -> None:
        """Add the rows of a batch, unless it is there.

        `write` writes files to a folder of this machine, and returns how many rows they must have.
        """
        self.check_owner(query, writer)
        owner = Owner(query, writer)
        if self.owner != owner:
            self.check_present(number)
            self._store.write(_OWNER, owner_text(owner).encode())
        if self._is_there(number):
            return
        for each in self._store.list(_STAGED):  # of batches that were not decided
            self._store.delete(each.name)
        with _folder_for(query) as temporary:
            folder = Path(temporary) / "rows"
            rows = write(folder)
            files = list(self._files(folder, rows))
            staged = uuid.uuid4().hex
            for index, file in enumerate(files):
                self._store.upload(_staged(staged, index), file)
        name = f"batch-{query[:8]}-{number:08}"
        moves = tuple(
            (
                _staged(staged, at),
                str(_place(folder, file, f"{name}-{at}{self._kind.ending(file)}")),
            )
            for at, file in enumerate(files)
        )
        batch = Batch(query, number, staged, moves)
        self._store.write(_DECISION, json.dumps(asdict(batch)).encode())
        self._move(batch, is_current=True)

    def _is_there(self, number: int) -> bool:
        found = self._store.read(_DECISION)
        if found is None:
            return False
        given = json.loads(found)
        moves = tuple((source, target) for source, target in given["moves"])
        last = Batch(given["query"], given["number"], given["staged"], moves)
        if last.number > number:
            raise InvalidArgument(
                f"{self.name} already has batch {last.number}, and the query is at batch {number}: "
                "was an old checkpoint restored?"
            )
        is_current = last.number == number
        self._move(last, is_current=is_current)
        return is_current

    def _move(self, batch: Batch, *, is_current: bool) -> None:
        """Copy staged files to their places, unless they are there already, and delete them.

        Files of a batch before the current one may have been deleted since by their owner.
        """
        staged = {each.name: each for each in self._store.list(_STAGED)} if batch.moves else {}
        for source, target in batch.moves:
            if source not in staged:
                if is_current and self._store.info(target) is None:
                    raise DataLost(
                        f"{self.name}/{target} of batch {batch.number} is gone, and so is "
                        f"{source}, from which it is copied: does another run write here, or does "
                        "a rule of the store delete new objects? Start over (`barnabas pipeline "
                        "reset`)"
                    )
                continue
            there = self._store.info(target)
            # A second copy would have a later time, and readers might take it for a new file.
            if there is None or there.size != staged[source].size:
                self._store.copy(source, target)
            self._store.delete(source)

    def _files(self, folder: Path, rows: int) -> Iterator[Path]:
        found = 0
        for file in self._kind.files(folder):
            count = self._kind.count(file)
            if count != 0:  # Spark writes an empty file, for its schema
                yield file
            found += rows if count is None else count
        if found < rows:
            raise InvalidArgument(
                f"Spark has written {rows} rows, but only {found} are in {folder}: rows for an "
                "object store pass through a folder of this machine, so Spark has to run on it"
            )


def _folder_for(query: str) -> "TemporaryDirectory[str]":
    """A folder for a batch; those that killed drivers of the same query have left are deleted."""
    prefix = f"barnabas-batch-{query}-"
    for left in Path(gettempdir()).glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    return TemporaryDirectory(prefix=prefix)


def _staged(batch: str, index: int) -> str:
    # No folder for each batch: an empty object would stay for it, once its last file is deleted.
    return f"{_STAGED}/{batch}-{index}"


def _place(folder: Path, file: Path, name: str) -> Path:
    return file.relative_to(folder).parent / name
