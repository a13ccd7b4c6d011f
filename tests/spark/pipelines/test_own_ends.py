"""A source and a sink that somebody else has written: one class each, and nothing else changes.

Everything that commands ask of an end is asked here of ends that the package does not know.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType
from typer.testing import CliRunner

from barnabas.cli.app import app
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    Sink,
    Source,
    as_version,
    load,
    pipeline,
    to_memory,
)
from barnabas.spark.pipelines.definition import sql_file
from barnabas.spark.pipelines.definition.problems import check_definitions
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError
from barnabas.spark.pipelines.operations.reset import reset_pipelines, what_is_there
from barnabas.spark.pipelines.pipeline_end import resolved_path
from barnabas.spark.pipelines.run.session_conf import session_conf
from barnabas.spark.pipelines.sinks.sink import OutputMode
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.writer import Writer
from barnabas.spark.testing import running


@dataclass(frozen=True)
class LinesSource(Source):
    """Lines of text files that are added to a folder."""

    path: str
    skip_empty: bool = False

    def describe(self) -> str:
        return f"lines in {self.path}"

    def load(self, environment: Environment) -> DataFrame:
        lines = environment.spark.readStream.schema("value STRING").format("text").load(self.path)
        return lines.where("value <> ''") if self.skip_empty else lines

    def problems(self) -> Iterator[SourceError]:
        if "*" in self.path:
            yield SourceError("path", f"{self.path}: name a folder, not a pattern")

    @property
    def session_conf(self) -> Mapping[str, str]:
        return {"spark.jars.packages": "org.example:lines:1.0"}

    def resolved(self, folder: Path) -> Self:
        return replace(self, path=resolved_path(self.path, folder))

    def in_test(self, folder: Path) -> "FedLines":
        return FedLines(str(folder), self.skip_empty)


@dataclass(frozen=True)
class FedLines(LinesSource):
    """The same, of Parquet files that a test writes."""

    def load(self, environment: Environment) -> DataFrame:
        lines = environment.spark.readStream.schema("value STRING").parquet(self.path)
        return lines.where("value <> ''") if self.skip_empty else lines

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        assert key is None
        fields = StructType.fromDDL("value STRING")
        feed.add_rows(Path(self.path), fields, [{"value": str(each)} for each in rows])


def from_lines(path: str, *, skip_empty: bool = False) -> LinesSource:
    return LinesSource(path, skip_empty)


@dataclass(frozen=True)
class JsonLinesSink(Sink):
    """One file of JSON lines for each batch."""

    path: str
    columns: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"JSON lines in {self.path}"

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",)

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode

        def write(batch: DataFrame, number: int) -> None:
            taken = batch.select(*self.columns) if self.columns else batch
            Path(self.path).mkdir(parents=True, exist_ok=True)
            (Path(self.path) / f"{number}.jsonl").write_text("\n".join(taken.toJSON().collect()))

        return rows.writeStream.foreachBatch(write)

    def check(self, writer: Writer, spark: SparkSession | None = None) -> None:
        del writer, spark
        if Path(self.path).is_file():
            raise InvalidArgument(f"{self.path} is a file, not a folder")

    def resolved(self, folder: Path) -> Self:
        return replace(self, path=resolved_path(self.path, folder))

    def as_version(self, version: str) -> Self:
        return replace(self, path=f"{self.path}-{version}")

    def output_to_delete(self, writer: Writer, *, delete: bool) -> list[Path]:
        del writer
        return [Path(self.path)] if delete and Path(self.path).is_dir() else []

    def delete_output(self) -> None:
        for each in Path(self.path).iterdir():
            each.unlink()
        Path(self.path).rmdir()


def to_json_lines(path: str, *, columns: Sequence[str] = ()) -> JsonLinesSink:
    return JsonLinesSink(path, tuple(columns))


@pytest.fixture(autouse=True)
def known_to_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line that each of them has there."""
    monkeypatch.setitem(sql_file.SOURCES, "lines", from_lines)
    monkeypatch.setitem(sql_file.SINKS, "jsonl", to_json_lines)


@pytest.fixture
def shout(tmp_path: Path) -> Pipeline:
    (tmp_path / "in").mkdir()
    (tmp_path / "shout.sql").write_text(
        "-- source lines: lines in skip_empty=true\n"
        "-- sink: jsonl out columns=loud,size\n"
        "SELECT upper(value) AS loud, length(value) AS size, value FROM lines\n"
    )
    return load(tmp_path / "shout.sql")["shout"]


def test_sql_converts_their_arguments_and_resolves_their_paths(
    tmp_path: Path, shout: Pipeline
) -> None:
    assert shout.sources == {"lines": LinesSource(str(tmp_path / "in"), skip_empty=True)}
    assert shout.sink == JsonLinesSink(str(tmp_path / "out"), ("loud", "size"))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("-- sink: jsonl out colums=a", "unexpected keyword argument 'colums'"),
        ("-- sink: josnl out", "unknown sink 'josnl'; use .*, memory or jsonl"),
        ("-- sink: jsonl out\n-- source a: lines in skip_empty=yes", "skip_empty is true or false"),
        ("-- sink: jsonl out\n-- output_mode: complete", 'JSON lines in out takes .* "append"'),
    ],
)
def test_sql_refuses_wrong_arguments(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "bad.sql").write_text(f"{line}\nSELECT 1")
    with pytest.raises(InvalidArgument, match=complaint):
        load(tmp_path / "bad.sql")


def test_a_problem_of_a_source_is_found_without_spark() -> None:
    @pipeline(sources={"lines": from_lines("in/*")}, sink=to_memory())
    def bad(lines: DataFrame) -> DataFrame:
        return lines

    with pytest.raises(InvalidArgument, match=r"pipeline bad: path of source lines: in/.*: name a"):
        check_definitions([bad])


def test_a_version_writes_elsewhere(tmp_path: Path, shout: Pipeline) -> None:
    (second,) = as_version([shout], "v2")
    assert second.sink == JsonLinesSink(str(tmp_path / "out-v2"), ("loud", "size"))
    assert second.sources == shout.sources


def test_packages_for_spark_are_collected(shout: Pipeline) -> None:
    assert session_conf([shout, shout]) == {"spark.jars.packages": "org.example:lines:1.0"}


@pytest.mark.usefixtures("shout")
def test_list_describes_them(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["pipeline", "list", str(tmp_path), "--json"])
    (listed,) = json.loads(done.stdout)
    assert listed["sources"] == {"lines": f"lines in {tmp_path}/in"}
    assert listed["sink"] == f"JSON lines in {tmp_path}/out"


def test_they_run_check_and_reset(spark: SparkSession, tmp_path: Path, shout: Pipeline) -> None:
    (tmp_path / "in" / "a.txt").write_text("one\n\nthree\n")
    folder = RunFolder(tmp_path / "runs")

    def run() -> None:
        with PipelineRun(spark, [shout], "nowhere:9", folder, once=True, max_restarts=0) as running:
            running.wait()

    def written() -> list[object]:
        files = sorted((tmp_path / "out").glob("*.jsonl"))
        return [json.loads(line) for each in files for line in each.read_text().splitlines()]

    run()
    assert written() == [{"loud": "ONE", "size": 3}, {"loud": "THREE", "size": 5}]

    assert what_is_there(folder, [shout], tables=False) == [folder.folder / "shout"]
    reset_pipelines(folder, [shout], tables=True)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(InvalidArgument, match=r"pipeline shout: .*/out is a file, not a folder"):
        run()


def test_they_are_fed_in_a_test(spark: SparkSession, shout: Pipeline) -> None:
    with running(shout, spark=spark) as run:
        run.feed("lines", "hello", "")
        assert [row["loud"] for row in run.rows()] == ["HELLO"]


def test_what_an_end_does_not_say_has_a_default() -> None:
    class Nothing(Sink):
        def describe(self) -> str:
            return "nothing"

        def writer(
            self, environment: Environment, rows: DataFrame, output_mode: OutputMode
        ) -> DataStreamWriter:
            raise NotImplementedError

    class Nowhere(Source):
        def describe(self) -> str:
            return "nowhere"

        def load(self, environment: Environment) -> DataFrame:
            raise NotImplementedError

    sink, source = Nothing(), Nowhere()
    assert sink.topics == source.required_topics == ()
    assert sink.output_to_delete(Writer("p", "f", "c"), delete=True) == []
    assert sink.parquet_folder is None
    assert source.as_version("v2", {}) is source
    assert source.dead_letter_topic is None
    with pytest.raises(InvalidArgument, match="nothing has no separate place for a version"):
        sink.as_version("v2")
    with pytest.raises(InvalidArgument, match="nowhere can't be fed in a test"):
        source.in_test(Path())
