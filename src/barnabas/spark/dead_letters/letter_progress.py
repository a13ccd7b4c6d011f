"""Which dead letters are written, for each partition that a query reads.

It is stored as the metadata of the offset that a group commits for the partition, in the same
transaction that writes the letters. So one never exists without the other.

    {"query": "5f0c...", "past": [...], "batch": 12, "definition": "9a1b...", "letters": 40,
     "done": [3, 14, 23, 1]}         the ranges 3 to 17 and 40 to 41, each number from the last on

Spark repeats the last batch of a query, with the same records, and never one before it. So it is
enough to know which ranges of offsets of one batch were processed: `done`. A task processes its
records in order, and its range extends from its first dead record to its last, so a record in a
range that was not written is not a dead one.

`query` begins with the id of the query. A pipeline that was reset is another query, which writes
its dead letters again; `past` are those before it, which may not come back. `definition` stands
for what decides which records are dead, and where they go: if that changes in the middle of a
batch, its dead letters are written again, since others may be among them.
"""

import json
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, chain, pairwise

from barnabas.errors import BarnabasError, InvalidArgument

_PAST_QUERIES = 20
_ID_LENGTH = 8
_MAX_RANGES = 200


class LateTask(BarnabasError):  # noqa: N818 - its name says what is wrong
    """A task of a batch that has ended, or of a query that was replaced."""


@dataclass(frozen=True)
class LetterTask:
    """What a task is part of."""

    query_id: str
    batch_id: int
    definition: str = ""
    """Stands for what decides which records are dead, and where they go."""

    @property
    def query(self) -> str:
        return self.query_id[:_ID_LENGTH]


@dataclass(frozen=True)
class LetterProgress:
    """How far the dead letters of one partition are written."""

    query: str = ""
    past: tuple[str, ...] = ()
    batch: int = -1
    definition: str = ""
    done: tuple[tuple[int, int], ...] = ()
    """Ranges of offsets, in order: from the first, to but without the second."""
    letters: int = 0
    """How many were written for this query."""

    def has(self, offset: int) -> bool:
        """Whether a record was processed."""
        return any(first <= offset < end for first, end in self.done)

    def at(self, task: LetterTask) -> "LetterProgress":
        """As a task finds it; raises `LateTask`."""
        if self.query != task.query:
            if task.query in self.past:
                raise LateTask(
                    f"query {task.query_id} was replaced by {self.query}: this task of it stops"
                )
            past = (*self.past, self.query)[-_PAST_QUERIES:] if self.query else ()
            return LetterProgress(task.query, past, task.batch_id, task.definition)
        if self.batch > task.batch_id:
            raise LateTask(
                f"query {task.query_id} is at batch {task.batch_id}, but dead letters of batch "
                f"{self.batch} are written already: Spark has abandoned this task, or the "
                "checkpoint is older than the output; then reset the pipeline (barnabas pipeline "
                "reset)"
            )
        if self.batch == task.batch_id and self.definition == task.definition:
            return self
        return replace(self, batch=task.batch_id, definition=task.definition, done=())

    def plus(self, first: int, end: int, letters: int) -> "LetterProgress":
        """With one more processed range, and the number of letters that were written in it."""
        merged: list[tuple[int, int]] = []
        for each in sorted((*self.done, (first, end))):
            if merged and each[0] <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], each[1]))
            else:
                merged.append(each)
        if len(merged) > _MAX_RANGES:
            raise InvalidArgument(
                f"more than {_MAX_RANGES} tasks of one batch found dead letters in one partition: "
                "lower minPartitions or raise maxRecordsPerPartition"
            )
        return replace(self, done=tuple(merged), letters=self.letters + letters)

    def encode(self) -> str:
        numbers = [0, *chain.from_iterable(self.done)]
        steps = [after - before for before, after in pairwise(numbers)]
        return json.dumps({**asdict(self), "done": steps}, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "LetterProgress":
        """The committed progress; empty if another client committed offsets of this group."""
        try:
            found = json.loads(text)
        except ValueError:
            return cls()
        if not isinstance(found, dict) or found.keys() != asdict(cls()).keys():
            return cls()
        found["past"] = tuple(found["past"])
        numbers = list(accumulate(found["done"]))
        found["done"] = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        return cls(**found)
