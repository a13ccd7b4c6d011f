"""Lines of log files that grow, are rotated, truncated, deleted and half-written."""

import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.connector import Position
from barnabas.spark.pipelines import (
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_log_files,
    pipeline,
)
from barnabas.spark.pipelines.sources import log_lines
from barnabas.spark.pipelines.sources.log_lines import LogFileLostError, LogLines


class Tail:
    """Reads on, as Spark does: what is new, in the parts that tasks read."""

    def __init__(self, pattern: Path, *, from_end: bool = False, limit: int = 1 << 20) -> None:
        self.lines = LogLines(str(pattern), from_end, limit, skip_missing=False)
        self.position: Position = self.lines.initial()
        self.before = self.position

    def new(self) -> list[str]:
        self.before, self.position = self.position, self.lines.latest(self.position)
        return self.again()

    def again(self) -> list[str]:
        parts = self.lines.split(self.before, self.position)
        return [row[0] for part in parts for row in self.lines.read(*part)]


def append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def test_lines_come_once_they_are_complete(tmp_path: Path) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "*.log")
    assert tail.new() == []
    append(file, "half")
    assert tail.new() == []
    append(file, " a line\r\nnext\nun")
    assert tail.new() == ["half a line", "next"]
    assert tail.new() == []
    append(file, "til here\n\nx\n")
    assert tail.new() == ["until here", "", "x"]
    assert tail.again() == ["until here", "", "x"], "a batch that repeats has the same lines"


def test_offsets_and_names_are_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes("ä\nb\n".encode() + b"\xff!\n")
    lines = LogLines(str(file), False, 100, False)
    end = lines.latest(lines.initial())
    assert list(lines.read(lines.initial(), end)) == [
        ("ä", str(file), 0),
        ("b", str(file), 3),
        ("\ufffd!", str(file), 5),
    ]


def test_a_renamed_file_is_read_to_its_end(tmp_path: Path) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "app.log")
    append(file, "one\n")
    assert tail.new() == ["one"]
    append(file, "two\n")
    file.rename(tmp_path / "app.log.1")
    append(file, "three\n")
    append(tmp_path / "app.log.1", "late\n")  # whoever has it open goes on writing
    assert sorted(tail.new()) == ["late", "three", "two"]
    file.rename(tmp_path / "app.log.2")
    assert sorted(tail.again()) == ["late", "three", "two"]
    assert tail.new() == []


def test_a_file_that_is_gone_before_its_end_was_read_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tail = Tail(tmp_path / "*.log", limit=4)
    for name in ("a", "b", "c"):
        append(tmp_path / f"{name}.log", "one\ntwo\n")
    assert tail.new() == ["one"]
    assert tail.new() == ["two"]
    (tmp_path / "a.log").unlink()  # it was read
    (tmp_path / "c.log").unlink()  # of which nothing was read
    assert tail.new() == ["one"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "b.log").rename(tmp_path / "elsewhere" / "b.log")
    assert tail.new() == []
    assert tail.new() == []
    lost = [each.getMessage().partition(";")[0] for each in caplog.records]
    assert lost == [
        f"{tmp_path / 'c.log'} is gone, and its last 8 bytes are not read",
        f"{tmp_path / 'b.log'} is gone, and its last 4 bytes are not read",
    ]


def test_a_file_that_has_gone_meanwhile_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "*.log")
    append(file, "one\n")
    assert tail.new() == ["one"]
    file.unlink()
    again = Tail(tmp_path / "*.log")  # another process
    again.position = tail.position
    assert again.new() == []
    assert again.new() == []
    (said,) = caplog.messages
    assert said.startswith(f"{file} is gone: lines that were added after byte 4 are not read")


def test_a_truncated_file_begins_anew(tmp_path: Path) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "*.log")
    append(file, "one\ntwo\n")
    assert tail.new() == ["one", "two"]
    os.truncate(file, 0)
    assert tail.new() == []
    append(file, "three\n")
    assert tail.new() == ["three"]
    os.truncate(file, 0)
    append(file, "longer than before\nand more\n")
    assert tail.new() == ["longer than before", "and more"], "noticed by how it begins"
    append(file, "x\n")
    assert tail.new() == ["x"]


def test_an_inode_that_is_used_again_is_another_file(tmp_path: Path) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "*.log")
    append(file, "one\n")
    tail.new()
    inode = file.stat().st_ino
    for _ in range(50):
        file.unlink()
        append(file, "six\nseven\n")
        if file.stat().st_ino == inode:
            break
    assert tail.new() == ["six", "seven"]


def test_the_end_of_what_is_there_may_be_the_start(tmp_path: Path) -> None:
    append(tmp_path / "a.log", "old\nha")
    tail = Tail(tmp_path / "*.log", from_end=True)
    assert tail.new() == []
    append(tmp_path / "a.log", "lf\n")
    append(tmp_path / "b.log", "new\n")
    assert tail.new() == ["half", "new"]


def test_a_batch_is_bounded(tmp_path: Path) -> None:
    for name in "abc":
        append(tmp_path / f"{name}.log", f"{name}\n" * 5)
    tail = Tail(tmp_path / "*.log", limit=7)
    batches = []
    while found := tail.new():
        batches.append("".join(found))
    assert batches == ["aaa", "aab", "bbb", "bcc", "ccc"]
    bounded = Tail(tmp_path / "*.log")
    bounded.lines.bound(bounded.position)
    append(tmp_path / "a.log", "later\n")
    append(tmp_path / "d.log", "later\n")
    assert len(bounded.new()) == 15
    assert bounded.new() == []


def test_a_line_that_is_longer_than_a_batch_is_read_whole(tmp_path: Path) -> None:
    append(tmp_path / "a.log", "x" * 100_000 + "\ny\nz")
    tail = Tail(tmp_path / "*.log", limit=7)
    assert [tail.new() for _ in range(3)] == [["x" * 100_000], ["y"], []]


def test_a_line_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "_LONGEST_LINE", 10)
    append(tmp_path / "a.log", "x" * 25)
    tail = Tail(tmp_path / "*.log")
    assert [tail.new() for _ in range(3)] == [["x" * 10], ["x" * 10], []]


def test_lines_that_are_gone_are_an_error_unless_they_may_be(tmp_path: Path) -> None:
    file, tail = tmp_path / "app.log", Tail(tmp_path / "*.log")
    append(file, "one\n")
    tail.new()
    file.unlink()
    with pytest.raises(LogFileLostError, match=r"app.log is gone or .* bytes 0 to 4.*skip_missing"):
        tail.again()
    tail.lines.skip_missing = True
    assert tail.again() == []
    assert tail.new() == []
    assert tail.position == {"files": {}}


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidArgument, match="pattern has to name files"):
        from_log_files(" ")
    with pytest.raises(InvalidArgument, match="starting is beginning or end, not 'latest'"):
        from_log_files("*.log", starting="latest")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="max_bytes_per_batch is 1 or more, not 0"):
        from_log_files("*.log", max_bytes_per_batch=0)


def test_a_pipeline_follows_files(spark: SparkSession, tmp_path: Path) -> None:
    found: list[str] = []
    failures = [False, True]

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        values = [row["value"] for row in rows.orderBy("value").collect()]
        if failures and failures.pop(0):
            raise RuntimeError(f"batch {number}")
        found.extend(values)

    @pipeline(sources={"lines": from_log_files(str(tmp_path / "*.log"))}, sink=kept)
    def logs(lines: DataFrame) -> DataFrame:
        return lines

    def run() -> None:
        runs = RunFolder(tmp_path / "runs")
        with PipelineRun(spark, [logs], "nowhere:9", runs, once=True, max_restarts=2) as each:
            each.wait()

    append(tmp_path / "a.log", "1\n2\n")
    run()
    append(tmp_path / "a.log", "3\n")
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    append(tmp_path / "a.log", "4\nha")
    run()
    assert found == ["1", "2", "3", "4"]
