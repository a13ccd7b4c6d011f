"""A Parquet table whose writer dies before any step: what readers of its folder see, and what is
there when it comes back. No Spark is needed: all that counts are files and the order of steps."""

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import to_parquet, to_postgres
from barnabas.spark.pipelines.definition.sql_file import read_sql
from barnabas.spark.pipelines.parquet import table as parquet_table
from barnabas.spark.pipelines.parquet.compaction import chosen
from barnabas.spark.pipelines.parquet.table import ParquetTable, TableInUseError
from barnabas.spark.pipelines.parquet.table_owner import Owner
from barnabas.spark.pipelines.writer import Writer, query_of

QUERY = "9d0e2f1c-query"
STEPS = ("os.rename", "os.mkdir", "os.link", "os.remove", "os.rmdir", "os.utime", "os.chmod")
STEPS_OF_OURS = ("barnabas.swap",)


class Killed(BaseException):
    """Nothing handles it, as nothing handles kill -9."""


class Steps:
    """Counts the steps that change the file system, and dies before one of them."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.left = 0
        self.seen = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.thread is None or self.thread != threading.get_ident():
            return
        is_write = event == "open" and arguments[1] in ("w", "wb")
        if not is_write and event not in STEPS and event not in STEPS_OF_OURS:
            return
        self.seen += 1
        if self.seen == self.left:
            self.thread = None
            raise Killed

    @contextmanager
    def dying_before(self, step: int) -> Iterator[None]:
        self.thread, self.left, self.seen = threading.get_ident(), step, 0
        try:
            yield
        finally:
            self.thread = None


@pytest.fixture(scope="module")
def steps() -> Steps:
    steps = Steps()  # there is no way to take it away again, so it does nothing by itself
    sys.addaudithook(steps)
    return steps


def writing(rows: dict[str, list[int]], parts: int = 1) -> Callable[[Path], int]:
    """Write as Spark does: a folder for each day, some files, and an empty one."""

    def write(folder: Path) -> int:
        for day, numbers in rows.items():
            (folder / f"day={day}").mkdir(parents=True)
            for part in range(parts):
                file = folder / f"day={day}" / f"part-{part}.parquet"
                parquet.write_table(pa.table({"number": numbers[part::parts]}), file)
        return sum(len(numbers) for numbers in rows.values())

    return write


def numbers(folder: Path) -> list[int]:
    """All rows, as a reader has them who knows nothing of us."""
    table = ds.dataset(folder, partitioning="hive", format="parquet").to_table()
    return sorted(table["number"].to_pylist()) if table.num_rows else []


def numbers_of_listed(folder: Path) -> list[int]:
    """All rows, as a reader has them that opens each file it has listed, or fails.

    pyarrow looks at each name once more after listing a folder, and skips those that have vanished.
    """
    files = []
    for place, below, names in os.walk(folder):
        below[:] = [each for each in below if not each.startswith("_")]
        files += [Path(place) / each for each in names]
    tables = [parquet.read_table(each, partitioning=None) for each in files]
    return sorted(number for each in tables for number in each["number"].to_pylist())


def compact(table: ParquetTable) -> None:
    """As compaction does it, with pyarrow instead of Spark."""
    with table.compacting() as is_mine:
        assert is_mine
        table.sweep()
        for partition in table.partitions():
            old = sorted(partition.glob("*.parquet"))
            new = table.stage() / "new"
            new.mkdir(parents=True)
            whole = pa.concat_tables([parquet.read_table(each, partitioning=None) for each in old])
            parquet.write_table(whole, new / f"compacted-{new.parent.name}.parquet")
            assert table.replace(partition, old, new)


FIRST = {"1": [1, 2, 3], "2": [4]}
SECOND = {"1": [5, 6], "2": [7, 8], "3": [9]}


def test_a_batch_is_there_once_wherever_its_writer_dies(tmp_path: Path, steps: Steps) -> None:
    deaths = 0
    for step in range(1, 100):
        table = ParquetTable(tmp_path / str(step))
        table.add(QUERY, 0, writing(FIRST, parts=2))
        try:
            with steps.dying_before(step):
                table.add(QUERY, 1, writing(SECOND, parts=2))
        except Killed:
            deaths += 1
        else:
            break
        seen = numbers(table.folder)
        assert len(seen) == len(set(seen)), "no row twice, for nobody"
        assert set(seen) >= {1, 2, 3, 4}, "and none of an earlier batch gone"
        other = ParquetTable(table.folder)
        decided = other.last_batch.number == 1
        anew = {"1": [5], "2": [7, 8, 6], "3": [9]}  # as Spark may split it otherwise
        other.add(QUERY, 1, writing(anew))
        assert numbers(table.folder) == list(range(1, 10))
        of_second = [
            each for each in table.folder.rglob("batch-*-00000001-*") if "staged" not in str(each)
        ]
        assert len(of_second) == (5 if decided else 3)
        other.add(QUERY, 2, writing({"3": [10]}))
        assert numbers(table.folder) == list(range(1, 11))
        assert not list((table.folder / "_barnabas" / "staged").iterdir())
    assert deaths > 15


def test_compaction_changes_no_row_wherever_it_dies(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "_REPLACED_KEPT_S", -1.0)
    deaths = 0
    for step in range(1, 100):
        table = ParquetTable(tmp_path / str(step))
        for batch in range(3):
            table.add(QUERY, batch, writing({"1": [batch], "2": [10 + batch]}))
        try:
            with steps.dying_before(step):
                compact(table)
        except Killed:
            deaths += 1
        else:
            break
        assert numbers(table.folder) == [0, 1, 2, 10, 11, 12]
        table.add(QUERY, 3, writing({"1": [3]}))
        compact(table)
        assert numbers(table.folder) == [0, 1, 2, 3, 10, 11, 12]
        assert len(list(table.folder.glob("day=*/*.parquet"))) == 2
        with table.compacting():
            table.sweep()
        assert not list((table.folder / "_barnabas" / "replaced").iterdir())
    assert deaths > 8


def test_files_that_come_while_others_are_replaced_stay(tmp_path: Path) -> None:
    table = ParquetTable(tmp_path)
    table.add(QUERY, 0, writing({"1": [0, 1]}, parts=2))
    partition = tmp_path / "day=1"
    old = sorted(partition.glob("*.parquet"))
    new = table.stage() / "new"
    writing({"x": [0, 1]})(new.parent)
    (new.parent / "day=x").rename(new)
    table.add(QUERY, 1, writing({"1": [2]}))
    assert table.replace(partition, old, new)
    assert numbers(tmp_path) == [0, 1, 2]
    assert not table.replace(partition, old, new), "these are gone by now"
    with table.compacting() as first, ParquetTable(tmp_path).compacting() as second:
        assert (first, second) == (True, False)


def test_readers_see_every_row_once_while_it_is_written_and_compacted(tmp_path: Path) -> None:
    table = ParquetTable(tmp_path)
    table.add(QUERY, 0, writing({"1": [0], "2": [1000]}))
    done = 1
    is_over, wanted = threading.Event(), threading.Event()
    wrong: list[object] = []
    reads = 0

    def read() -> None:
        nonlocal reads
        while not is_over.is_set():
            before = done
            try:
                seen = numbers_of_listed(tmp_path)
            except FileNotFoundError:  # replaced since they were listed: it says so
                continue
            whole = {*range(before), *range(1000, 1000 + before)}
            if len(seen) != len(set(seen)) or not whole <= set(seen):
                wrong.append((whole, seen))
            reads += 1

    def merge() -> None:
        while not is_over.is_set():
            if wanted.wait(timeout=0.1):
                wanted.clear()
                compact(table)

    threads = [threading.Thread(target=each) for each in (read, merge)]
    for each in threads:
        each.start()
    deadline = monotonic() + 120
    while done < 60:
        table.add(QUERY, done, writing({"1": [done], "2": [1000 + done]}))
        done += 1
        if done % 5 == 0:  # so that a slow reader gets a chance between two compactions
            wanted.set()
            before = reads
            while reads == before and monotonic() < deadline:
                sleep(0.001)
    is_over.set()
    for each in threads:
        each.join()
    assert wrong == []
    assert reads >= 12
    assert numbers(tmp_path) == [*range(done), *range(1000, 1000 + done)]


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    table = ParquetTable(tmp_path)
    table.add(QUERY, 0, lambda _: 0)
    table.add(QUERY, 4, writing({"1": [1]}))
    table.add(QUERY, 4, lambda _: pytest.fail("it is there"))
    with pytest.raises(InvalidArgument, match="old checkpoint"):
        table.add(QUERY, 3, writing({"1": [1]}))
    with pytest.raises(InvalidArgument, match="rows of an earlier run"):
        table.add("other", 5, writing({"1": [1]}))
    with pytest.raises(InvalidArgument, match="workers share"):
        table.add(QUERY, 5, lambda folder: writing({"1": [1]})(folder) + 1)
    assert numbers(tmp_path) == [1]
    (tmp_path / "_spark_metadata").mkdir()
    with pytest.raises(InvalidArgument, match="move it away"):
        table.add(QUERY, 5, writing({"1": [1]}))


def writer(folder: Path, query: str | None = None) -> Writer:
    """A pipeline with its checkpoint, which is that of a query if there is any."""
    checkpoint = folder / "orders" / "checkpoint"
    if query is not None:
        checkpoint.mkdir(parents=True)
        (checkpoint / "metadata").write_text(json.dumps({"id": query}))
    return Writer("orders", str(folder), str(checkpoint))


def test_a_table_knows_whose_it_is(tmp_path: Path) -> None:
    table, first = ParquetTable(tmp_path / "table"), writer(tmp_path / "first", QUERY)
    table.add(QUERY, 0, lambda _: 0, first)
    assert table.owner == Owner(QUERY, first), "also when there were no rows yet"
    table.add(QUERY, 1, writing({"1": [1]}), first)

    with pytest.raises(InvalidArgument, match=r"earlier run.*--tables"):
        table.add("after a reset", 0, writing({"1": [1]}), first)
    other = writer(tmp_path / "other", "other")
    with pytest.raises(InvalidArgument) as refused:
        table.add("other", 0, writing({"1": [1]}), other)
    assert f"belongs to pipeline orders, whose checkpoint is in {first.checkpoint}" in str(
        refused.value
    )
    with pytest.raises(InvalidArgument, match="belongs to"):  # a copy, while the first is there
        table.add(QUERY, 2, writing({"1": [2]}), writer(tmp_path / "copy", QUERY))
    (tmp_path / "first").rename(tmp_path / "moved")
    moved = writer(tmp_path / "moved")
    assert query_of(moved.checkpoint) == QUERY
    table.add(QUERY, 2, writing({"1": [2]}), moved)
    assert table.owner == Owner(QUERY, moved)
    assert numbers(table.folder) == [1, 2]


@pytest.mark.parametrize("gone", [".", "_barnabas"])
def test_a_table_that_has_vanished_is_not_begun_anew(tmp_path: Path, gone: str) -> None:
    table = ParquetTable(tmp_path / "table")
    table.add(QUERY, 0, writing(FIRST))
    shutil.rmtree(table.folder / gone)
    for _ in range(2):
        with pytest.raises(InvalidArgument, match=r"is missing.*start over"):
            table.add(QUERY, 1, writing(SECOND))
    assert not (table.folder / "day=3").exists()
    (table.folder / "_barnabas").mkdir(parents=True)
    table.add(QUERY, 1, writing(SECOND))
    assert set(numbers(table.folder)) >= {5, 6, 7, 8, 9}, "somebody has said so"


def test_a_table_that_vanishes_while_a_batch_is_written(tmp_path: Path) -> None:
    table = ParquetTable(tmp_path / "table")
    table.add(QUERY, 0, writing(FIRST))

    def write(folder: Path) -> int:
        shutil.rmtree(table.folder)
        return writing(SECOND)(folder)  # as Spark does, it makes the folders that it needs

    for each in (write, writing(SECOND)):
        with pytest.raises(InvalidArgument, match="is missing"):
            table.add(QUERY, 1, each)
    assert not list(table.folder.rglob("*.parquet"))


def test_a_table_is_not_deleted_while_somebody_is_at_it(tmp_path: Path) -> None:
    table, same = ParquetTable(tmp_path / "table"), ParquetTable(tmp_path / "table")
    table.add(QUERY, 0, writing(FIRST))
    for busy in (table.compacting, table._locked):
        with busy(), pytest.raises(TableInUseError, match="stop that first"):
            same.check_idle()
        with busy(), pytest.raises(TableInUseError, match="stop that first"):
            same.delete()
    assert numbers(table.folder) == [1, 2, 3, 4]
    same.check_idle()
    same.delete()
    assert not table.folder.exists()


def test_which_files_are_made_one() -> None:
    def names(thrifty: bool, *sizes: int) -> str:
        files = {Path(f"{index}"): size for index, size in enumerate(sizes)}
        return " ".join(each.name for each in chosen(files, 100, thrifty=thrifty))

    assert names(False, 5, 100, 3, 99) == "2 0 3"
    assert names(True, 5, 5, 5, 40) == "0 1 2", "the large one waits"
    assert names(True, 5, 5, 5, 5, 5, 5, 5, 5, 40) == "0 1 2 3 4 5 6 7 8"
    assert names(True, 1, 2, 10, 11, 50) == "0 1 2 3"
    assert names(True, 7) == ""


def test_sinks_in_sql(tmp_path: Path) -> None:
    def sink(text: str) -> object:
        file = tmp_path / "p.sql"
        file.write_text(f"-- sink: {text}\nSELECT 1")
        return read_sql(file).sink

    assert sink('parquet events partition_by="day=date(at),kind" compact=20') == to_parquet(
        "events", partition_by=["day=date(at)", "kind"], compact=20
    )
    with pytest.raises(InvalidArgument, match="compact is a number"):
        sink("parquet events partition_by=day compact=yes")
    address = "postgresql://me@/db?host=/tmp"
    found = sink(
        f'postgres {address} stock key=day,item latest_by=at delete_when="n = 0" create=true'
    )
    assert found == to_postgres(
        address, "stock", key=["day", "item"], latest_by="at", delete_when="n = 0", create=True
    )
    with pytest.raises(InvalidArgument, match="'key'"):
        sink(f"postgres {address} stock")
