"""Files to and from: JSON lines, CSV and Parquet, exactly once, and files that are half-written."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_files,
    from_generator,
    load,
    pipeline,
    to_files,
)
from barnabas.spark.pipelines.operations.reset import reset_pipelines
from barnabas.spark.pipelines.parquet.file_kind import FileKind
from barnabas.spark.pipelines.parquet.table import ParquetTable


def test_wrong_formats_are_named() -> None:
    with pytest.raises(InvalidArgument, match="unknown format 'jsn'; use json, csv, parquet"):
        to_files("out", format="jsn")
    with pytest.raises(InvalidArgument, match=r"unknown format 'parqet': did you mean parquet\?"):
        from_files("in", "id INT", format="parqet")
    with pytest.raises(InvalidArgument, match="no argument 'partitionby'"):
        to_files("out", partitionby="day")


def test_in_sql(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text(
        '-- sink: files out format=csv partition_by="day=date(at)" compression=gzip\nSELECT 1'
    )
    sink = load(tmp_path / "p.sql")["p"].sink
    assert sink == to_files(
        str(tmp_path / "out"), format="csv", partition_by=["day=date(at)"], compression="gzip"
    )
    assert sink.describe() == f"csv files in {tmp_path / 'out'}"
    assert sink.parquet_folder is None


def test_a_batch_that_comes_again_is_left_out(tmp_path: Path) -> None:
    table = ParquetTable(tmp_path, FileKind("json"))

    def writing(text: str) -> Any:
        def write(folder: Path) -> int:
            (folder / "day=1").mkdir(parents=True)
            (folder / "day=1" / "part-0.json").write_text(text)
            (folder / "day=1" / "part-1.json.gz").write_text("x")
            (folder / "day=1" / ".part-0.json.crc").write_text("x")
            (folder / "day=1" / "part-2.json").write_text("")
            (folder / "_SUCCESS").write_text("")
            return 2

        return write

    table.add("query", 0, writing("first\n"))
    table.add("query", 0, writing("again\n"))
    table.add("query", 1, writing("second\n"))
    found = sorted(each.name for each in (tmp_path / "day=1").iterdir())
    assert found == [
        "batch-query-00000000-0.json",
        "batch-query-00000000-1.json.gz",
        "batch-query-00000001-0.json",
        "batch-query-00000001-1.json.gz",
    ]
    assert (tmp_path / "day=1" / "batch-query-00000000-0.json").read_text() == "first\n"


def run(spark: SparkSession, defined: Pipeline, folder: RunFolder, restarts: int = 3) -> None:
    with PipelineRun(
        spark, [defined], "nowhere:9", folder, once=True, max_restarts=restarts
    ) as each:
        each.wait()


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_rows_go_to_files_and_come_from_them(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    out, folder = tmp_path / "out", RunFolder(tmp_path / "runs")
    source = from_generator("id BIGINT sequence, name STRING choice(a, b)", count=20, seed=3)

    @pipeline(sources={"rows": source}, sink=to_files(str(out), format=kind, partition_by="name"))
    def written(rows: DataFrame) -> DataFrame:
        return rows

    run(spark, written, folder)
    run(spark, written, folder)
    files = [each for each in out.rglob(f"*.{kind}") if "_barnabas" not in each.parts]
    lines = [line for each in files for line in each.read_text().splitlines()]
    found = (
        [json.loads(line)["id"] for line in lines]
        if kind == "json"
        else [int(line) for line in lines if line != "id"]
    )
    assert sorted(found) == list(range(20))
    assert {each.parent.name for each in files} == {"name=a", "name=b"}
    read: list[int] = []

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        read.extend(row["id"] for row in rows.collect())

    options = {"header": True} if kind == "csv" else {}

    @pipeline(
        sources={"rows": from_files(str(out), "id BIGINT", format=kind, **options)}, sink=kept
    )
    def copied(rows: DataFrame) -> DataFrame:
        return rows

    run(spark, copied, folder)
    assert sorted(read) == list(range(20))
    with pytest.raises(InvalidArgument, match="--tables"):
        reset_pipelines(folder, [written], tables=False)
    reset_pipelines(folder, [written], tables=True)
    assert not out.exists()


def test_a_half_written_file_is_read_when_it_is_complete(
    spark: SparkSession, tmp_path: Path
) -> None:
    incoming, folder = tmp_path / "in", RunFolder(tmp_path / "runs")
    incoming.mkdir()
    read: list[int] = []

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        read.extend(row["id"] for row in rows.orderBy("id").collect())

    source = from_files(str(incoming), "id BIGINT", mode="FAILFAST")

    @pipeline(sources={"rows": source}, sink=kept)
    def files(rows: DataFrame) -> DataFrame:
        return rows

    (incoming / "a.json").write_text('{"id": 1}\n{"id": 2')
    (incoming / ".b.json").write_text('{"id": 3}\n')
    (incoming / "_c.json").write_text('{"id": 4}\n')
    with pytest.raises(PipelineError):
        run(spark, files, folder, restarts=0)
    assert read == []
    (incoming / "a.json").write_text('{"id": 1}\n{"id": 2}\n')
    (incoming / ".b.json").rename(incoming / "b.json")
    run(spark, files, folder)
    assert read == [1, 2, 3], "the batch came again, with the whole file"
