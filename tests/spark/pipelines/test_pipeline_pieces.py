"""The parts of pipelines that need no Spark: definitions, files, back-off, reports, folders."""

import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

import barnabas.errors
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    as_version,
    expect,
    for_each_batch,
    from_table,
    from_topic,
    load,
    pipeline,
    to_parquet,
    to_topic,
)
from barnabas.spark.pipelines.environment import (
    LONG_RUNNING_CONF,
    BrokerRecords,
    Environment,
    applied,
)
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.formats.avro import AvroValues
from barnabas.spark.pipelines.operations.reset import reset_pipelines, what_is_there
from barnabas.spark.pipelines.run.former_letters import replace_former_letters
from barnabas.spark.pipelines.run.pipeline_run import SparkGone
from barnabas.spark.pipelines.run.progress import Progress, read_batch
from barnabas.spark.pipelines.run.restart_policy import RestartPolicy
from barnabas.spark.pipelines.run.run_folder import statuses
from barnabas.spark.pipelines.run.supervised_query import SupervisedQuery

SQL = """
-- Page views by page and minute.
-- source views: topic page-views schema="page STRING NOT NULL, at TIMESTAMP"
--     watermark="at 10 minutes" dead_letters=bad-views
--     maxOffsetsPerTrigger=1000
-- source users: table users schema="name STRING" key=user
-- sink: topic views-per-minute key=page,minute exactly_once=true
-- trigger: 5 seconds
-- conf: spark.sql.shuffle.partitions=4
SELECT page, count(*) FROM views GROUP BY page -- not a header: but a comment
"""


def test_a_sql_file_says_the_same_as_python(tmp_path: Path) -> None:
    (tmp_path / "views.sql").write_text(SQL)
    found = load(tmp_path)["views"]
    assert found.sources == {
        "views": from_topic(
            "page-views",
            "page STRING NOT NULL, at TIMESTAMP",
            watermark="at 10 minutes",
            dead_letters="bad-views",
            maxOffsetsPerTrigger=1000,
        ),
        "users": from_table("users", "name STRING", key="user"),
    }
    assert found.sink == to_topic("views-per-minute", key=["page", "minute"], exactly_once=True)
    assert found.trigger == "5 seconds"
    assert found.output_mode == "append"
    assert found.conf == {"spark.sql.shuffle.partitions": "4"}


SKIPPED_TWICE = "topic x schema='y INT' dead_letters=d skip_undecodable=true"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SELECT 1", "sink: topic NAME"),
        ("-- sink: table t\nSELECT 1", "unknown sink 'table'; use topic, parquet"),
        ("-- sink: topic\nSELECT 1", "missing a required argument: 'topic'"),
        ("-- sink: topic t\n-- sink: topic u\nSELECT 1", "sink is given twice"),
        ("-- sink: topic t\n-- output_mode: all\nSELECT 1", "unknown output mode 'all'"),
        ("-- sink: parquet p\n-- output_mode: update\nSELECT 1", 'output_mode "append"'),
        ('-- sink: topic t\n-- source a: topic x schema="y\nSELECT 1', "No closing quotation"),
        ("-- sink: topic t\n-- source a: topic x dead_letters=d\nSELECT 1", "need a schema"),
        (f"-- sink: topic t\n-- source a: {SKIPPED_TWICE}\nSELECT 1", "not both"),
        ("-- sink: topic t\n-- source a: topic x watermark=at\nSELECT 1", "a column and a delay"),
        ("-- sink: topic t\n-- source a: topic x record=kee\nSELECT 1", "unknown field 'kee'"),
    ],
)
def test_what_is_wrong_with_a_sql_file_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "p.sql").write_text(text)
    with pytest.raises(InvalidArgument, match=r"p\.sql") as caught:
        load(tmp_path / "p.sql")
    assert complaint in str(caught.value)


def test_a_folder_has_the_pipelines_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "names_of_topics.py").write_text('VIEWS = "views"\n')
    (tmp_path / "one.py").write_text(
        "from barnabas.spark.pipelines import *\n"
        "from names_of_topics import VIEWS\n"
        "@pipeline(sources={'views': from_topic(VIEWS)}, sink=to_console())\n"
        "def one(views): return views\n"
    )
    (tmp_path / "two.py").write_text("from one import one\n")
    (tmp_path / "test_one.py").write_text("raise AssertionError('a test is no definition')\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "three.sql").write_text("nonsense")
    found = load(tmp_path)
    assert list(found) == ["one"]
    assert found["one"].sources["views"].describe() == "topic views"
    (tmp_path / "one.sql").write_text("-- sink: console\nSELECT 1")
    with pytest.raises(InvalidArgument, match=r"pipeline one is in .*one\.py and in .*one\.sql"):
        load(tmp_path)
    with pytest.raises(InvalidArgument, match="no pipeline in"):
        load(tmp_path / "two.py")


@pytest.mark.parametrize("use", ["F.window('at', '1 minute')", "F.col('at')"])
def test_spark_is_started_for_a_file_that_uses_it_while_it_is_imported(
    tmp_path: Path, use: str
) -> None:
    (tmp_path / "eager.py").write_text(
        "from pathlib import Path\n"
        "from pyspark.sql import functions as F\n"
        "from barnabas.spark.pipelines import *\n"
        "if not Path(__file__).with_name('started').exists():\n"
        f"    {use}\n"
        "@pipeline(sources={'views': from_topic('v')}, sink=to_console())\n"
        "def eager(views): return views\n"
    )
    assert list(load(tmp_path, (tmp_path / "started").touch)) == ["eager"]


def test_parameters_have_to_be_the_sources() -> None:
    with pytest.raises(InvalidArgument, match=r"\['clicks'\].*\['views'\]"):

        @pipeline(sources={"views": from_topic("v")}, sink=to_topic("t"))
        def wrong(clicks: object) -> None: ...


def test_where_dead_letters_of_a_source_go() -> None:
    rule = expect("x > 0", on_failure="dead_letter")

    @pipeline(
        sources={
            "a": from_topic("a", "x INT", dead_letters="bad-a", expect=[rule]),
            "b": from_topic("b", "x INT", skip_undecodable=True, kafka__client__id="me"),
        },
        sink=to_topic("t", kafka__compression__type="zstd", kafka__bootstrap__servers="x:1"),
    )
    def joined(a: object, b: object) -> None: ...

    here = ClusterAddress("here:9092")
    environment = Environment(None, BrokerRecords(here), here)
    first, second = joined.sources["a"].letter_targets(joined.environment_of("a", environment))
    assert (first.topic, second.topic) == ("bad-a", "bad-a")
    assert first.group == "joined.a.dead-letters"
    assert second.group == "joined.a.dead-letters.expectations"
    assert first.connection.bootstrap_servers == "here:9092", "where the records are"
    assert first.compression is Compression.ZSTD, "as the sink's"
    assert first.definition != second.definition
    assert joined.sources["b"].letter_targets(environment) == []


def test_a_version_has_names_and_outputs_of_its_own() -> None:
    @pipeline(
        sources={"raw": from_topic("raw", "x INT", dead_letters="bad")},
        sink=to_topic("clean", key="x"),
    )
    def clean(raw: object) -> None: ...

    @pipeline(
        sources={"clean": from_topic("clean, other", "x INT"), "raw": from_table("raw", "x INT")},
        sink=to_parquet("tables/x/", partition_by="x"),
    )
    def stored(clean: object, raw: object) -> None: ...

    first, second = as_version([clean, stored], "v2")
    assert (first.name, second.name) == ("clean-v2", "stored-v2")
    assert first.sources == {"raw": from_topic("raw", "x INT", dead_letters="bad-v2")}
    assert first.sink == to_topic("clean-v2", key="x")
    assert second.sources["clean"] == from_topic("clean-v2,other", "x INT"), "of the same version"
    assert second.sources["raw"] == from_table("raw", "x INT")
    assert second.sink == to_parquet("tables/x-v2", partition_by="x")
    assert first.transform is clean.transform
    for version in ("", "a/b", "v 2"):
        with pytest.raises(InvalidArgument, match="letters, digits"):
            as_version([clean], version)

    @pipeline(sources={"raw": from_topic("raw")}, sink=for_each_batch(print))
    def printed(raw: object) -> None: ...

    with pytest.raises(InvalidArgument, match=r"pipeline printed: print\(\) has no separate place"):
        as_version([printed], "v2")


def test_dead_letters_do_not_go_round_for_ever() -> None:
    with pytest.raises(InvalidArgument, match="again and again"):
        from_topic("a, b", "x INT", dead_letters="b")


def test_waits_double_and_begin_anew_once_something_was_done() -> None:
    backoff = RestartPolicy()
    assert [backoff.next_s() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    backoff.reset()
    assert backoff.next_s() == 1
    limited = RestartPolicy(max_restarts=1)
    assert [limited.next_s(), limited.next_s()] == [1, None]


STAGE_FAILED = """[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: \
Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: \
Lost task 0.0 in stage 1.0 (TID 1) (127.0.0.1 executor driver): \
org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] the record a:0@1 can't be decoded \
SQLSTATE: P0001 SQLSTATE: XXKST
\tat org.apache.spark
"""
IN_PYTHON = """Query terminated: Traceback (most recent call last):
  File "x", line 1, in y
    code()
barnabas.errors.DataLost: offsets are gone. If going on is right

\tat java
"""
UNSUPPORTED = "[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]"
WITHOUT_WATERMARK = (
    'give the source a watermark and count by windows of that time, or set output_mode to "update"'
)
HIDDEN = """Query terminated: Traceback (most recent call last):
  File "x", line 1, in y
ValueError: maxOffsetsPerTrigger is no number

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker", line 1, in main
UnboundLocalError: cannot access local variable 'reader' where it is not associated with a value
"""
IN_A_UDF = f"""Job aborted: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/spark/python/lib/pyspark.zip/pyspark/worker.py", line 7, in main
  File "/home/ada/views.py", line 9, in ratio
    return share(a, b)
  File "/home/ada/shares.py", line 3, in share
    return Decimal(a) / b
  File "{json.__file__}", line 4, in loads
ZeroDivisionError: division by zero

\tat java
"""
OURS = f"""Traceback (most recent call last):
  File "{barnabas.errors.__file__}", line 7, in main
barnabas.errors.DataLost: gone
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (IN_A_UDF, "/home/ada/shares.py:3: ZeroDivisionError: division by zero"),
        (OURS, "DataLost: gone"),
        (STAGE_FAILED, "the record a:0@1 can't be decoded"),
        (IN_PYTHON, "DataLost: offsets are gone. If going on is right"),
        ("something else", "something else"),
        ("[A.B] no `pge`. SQLSTATE: 42703; line 3 pos 7;", "[A.B] no `pge`. line 3 pos 7"),
        (HIDDEN, "ValueError: maxOffsetsPerTrigger is no number"),
        (f"{UNSUPPORTED} no. SQLSTATE: 0A000", f"{UNSUPPORTED} no; {WITHOUT_WATERMARK}"),
    ],
)
def test_the_reason_of_a_failure_is_what_was_first(text: str, reason: str) -> None:
    assert reason_of(Exception(text)) == reason


def report(number: int, at: str, **more: object) -> dict[str, object]:
    return {"batchId": number, "timestamp": at, "batchDuration": 1000, "numInputRows": 10, **more}


class Reporting:
    """A query of Spark's, as far as its reports go."""

    isActive = True

    def __init__(self) -> None:
        self._jsq = self
        self.reports: list[dict[str, object]] = []
        self.read = 0

    def recentProgress(self) -> list["Reported"]:
        return [Reported(each, self) for each in self.reports]

    def lastProgress(self) -> "Reported | None":
        return self.recentProgress()[-1] if self.reports else None


class Reported:
    def __init__(self, told: dict[str, object], query: Reporting) -> None:
        self._told = told
        self._query = query

    def batchId(self) -> object:
        return self._told["batchId"]

    def timestamp(self) -> object:
        return self._told["timestamp"]

    def json(self) -> str:
        self._query.read += 1
        return json.dumps(self._told)


def test_a_report_of_idleness_does_not_stand_for_the_batch_that_follows() -> None:
    done = {"durationMs": {"addBatch": 1, "triggerExecution": 2}}
    idle = {"numInputRows": 0, "durationMs": {"triggerExecution": 1}}
    query = Reporting()

    @pipeline(sources={"a": from_topic("a")}, sink=to_topic("t"))
    def copied(a: object) -> None: ...

    supervised = SupervisedQuery(copied, lambda: query)
    supervised.start(0.0)
    query.reports.append(report(0, "2026-01-01T00:00:00.000Z", **done))
    query.reports.append(report(1, "2026-01-01T00:00:10.000Z", **idle))
    supervised.poll(1.0)
    assert (supervised.progress.batches, supervised.progress.rows_in) == (1, 10)
    query.reports.append(report(1, "2026-01-01T00:00:11.000Z", **done))
    supervised.poll(2.0)
    assert (supervised.progress.batches, supervised.progress.rows_in) == (2, 20)
    assert query.read == 3
    for second in range(20, 60, 10):
        query.reports.append(report(2, f"2026-01-01T00:00:{second}.000Z", **idle))
        for _ in range(5):
            supervised.poll(3.0)
    assert query.read == 7, "each report of idleness once"


def test_reports_are_summed_up() -> None:
    progress = Progress()
    progress.add(
        read_batch(
            report(
                0,
                "2026-01-01T00:00:00.000Z",
                eventTime={"watermark": "1970-01-01T00:00:00.000Z"},
                observedMetrics={"barnabas_output": {"rows": 4}},
                stateOperators=[{"numRowsTotal": 3, "memoryUsedBytes": 7}, {"numRowsTotal": 2}],
                sources=[
                    {
                        "endOffset": {"t": {"0": 5, "1": 7}, "t@id": {"0": 1, "1": -8}},
                        "latestOffset": {"t": {"0": 9, "1": 7}, "t@id": {"0": 2, "1": 9}},
                    },
                    {"endOffset": '{"u": {"0": 1}}', "latestOffset": '{"u": {"0": 2}}'},
                    {"endOffset": {"logOffset": 3}, "latestOffset": None},
                ],
            )
        )
    )
    assert progress.last is not None
    assert (progress.last.lag, progress.watermark) == (5, None)
    assert (progress.last.state_rows, progress.last.state_bytes) == (5, 7)
    progress.add(
        read_batch(
            report(
                1,
                "2026-01-01T00:00:04.000Z",
                eventTime={"watermark": "2026-01-01T00:00:00.000Z"},
                stateOperators=[{"numRowsDroppedByWatermark": 2}],
            )
        )
    )
    progress.add(read_batch(report(2, "2026-01-01T00:00:05.000Z")))
    assert (progress.rows_in, progress.rows_out, progress.rows_late) == (30, 4, 2)
    assert progress.watermark == "2026-01-01T00:00:00.000Z", "kept where a batch names none"
    began = 1767225600.0
    assert progress.rates(began + 10) == (3.0, 0.4)
    assert progress.rates(began + 15) == (20 / 11, 0.0), "the first batch is too long ago"
    assert progress.rates(began + 100) == (0.0, 0.0)


class GoneQuery:
    """A query of a Spark that was killed."""

    @property
    def isActive(self) -> bool:
        raise ConnectionRefusedError(111, "Connection refused")

    def stop(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


def test_where_spark_is_gone_pipelines_have_failed(tmp_path: Path) -> None:
    @pipeline(sources={"views": from_topic("v")}, sink=to_topic("t"))
    def views(views: object) -> None: ...

    run = PipelineRun(None, [views], "", RunFolder(tmp_path))
    (query,) = run.queries
    query._start = GoneQuery
    query.start(0)
    assert query.state == "running"
    with pytest.raises(SparkGone, match="the Spark process has ended"):
        run.wait()
    assert (query.state, query.error) == ("failed", SparkGone.MESSAGE)
    query.start(0)
    run.stop()
    assert query.state == "stopped", "there is nothing left to end"


def test_paths_are_relative_to_the_file_that_they_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project" / "daily"
    folder.mkdir(parents=True)
    source = 'source rows: files incoming/*.json schema="x INT"'
    (folder / "plain.sql").write_text(f"-- {source}\n-- sink: parquet out/plain\nSELECT 1")
    (folder / "fixed.sql").write_text(
        "-- source rows: topic t format=avro schema=x.avsc\n"
        f"-- sink: parquet {tmp_path}/fixed\nSELECT 1"
    )
    for name, url in (("far", "s3a://bucket/far"), ("near", "file:///near")):
        (folder / f"{name}.sql").write_text(f"-- {source}\n-- sink: parquet {url}\nSELECT 1")
    (folder / "own.py").write_text(
        "from barnabas.spark.pipelines import from_files, pipeline, to_parquet\n"
        "@pipeline(sources={'rows': from_files('../incoming', 'x INT')}, sink=to_parquet('own'))\n"
        "def own(rows): ..."
    )
    monkeypatch.chdir(tmp_path / "project")
    for given in (folder, Path("daily")):
        found = load(given)
        assert {name: each.sink.path for name, each in found.items()} == {
            "plain": f"{folder}/out/plain",
            "fixed": f"{tmp_path}/fixed",
            "far": "s3a://bucket/far",
            "near": "file:///near",
            "own": f"{folder}/own",
        }
        assert found["plain"].sources["rows"].path == f"{folder}/incoming/*.json"
        assert found["own"].sources["rows"].path == f"{folder}/../incoming"
        assert found["fixed"].sources["rows"].schema == f"{folder}/x.avsc"
        (version,) = as_version([found["plain"]], "v2")
        assert version.sink.path == f"{folder}/out/plain-v2"
    monkeypatch.chdir(folder)
    assert load("plain.sql")["plain"].sink.path == f"{folder}/out/plain"


class Session:
    """One that has settings and nothing else."""

    def __init__(self, **given: str) -> None:
        self.conf = self
        self.getAll = given

    def set(self, name: str, value: str) -> None:
        self.getAll[name] = value

    def unset(self, name: str) -> None:
        del self.getAll[name]


def test_settings_that_the_user_has_made_win() -> None:
    name = "spark.sql.parquet.outputTimestampType"
    for given, of_pipeline, expected in (
        ({}, {}, "TIMESTAMP_MICROS"),
        ({name: "INT96"}, {}, "INT96"),
        ({name: "INT96"}, {name: "TIMESTAMP_MILLIS"}, "TIMESTAMP_MILLIS"),
    ):
        spark = Session(**given)
        with applied(spark, of_pipeline):
            assert spark.getAll[name] == expected
        assert spark.getAll == given, "and nothing is left"


def test_only_pipelines_that_run_all_the_time_ask_seldom_for_news() -> None:
    name = "spark.sql.streaming.pollingDelay"
    spark = Session()
    with applied(spark, {}, LONG_RUNNING_CONF):
        assert spark.getAll[name] == "150ms"
    with applied(spark, {}):
        assert name not in spark.getAll, "a test waits for each batch"
    with applied(spark, {name: "10ms"}, LONG_RUNNING_CONF):
        assert spark.getAll[name] == "10ms"


def test_a_pipeline_runs_once_at_a_time_and_says_so(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    lock = folder.lock("p")
    folder.write_status(
        "p", {"pipeline": "p", "state": "running", "pid": 17, "defined_in": "/x.py"}
    )
    assert folder.is_running("p")
    with pytest.raises(PipelineError, match="is already running \\(process 17\\)"):
        folder.lock("p")
    assert [each["state"] for each in statuses(folder)] == ["running"]
    assert statuses(folder, Path("/y.py")) == []
    os.close(lock)
    assert [each["state"] for each in statuses(folder)] == ["died"]


def test_a_reset_deletes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    folder, table = RunFolder(tmp_path / "runs"), tmp_path / "table"

    def rows(views: object) -> None: ...

    def defined(name: str, sink: object) -> Pipeline:
        return pipeline(name=name, sources={"views": from_topic("v", "x INT", dead_letters="d")},
                        sink=sink)(rows)  # fmt: skip

    mine, other = defined("mine", to_parquet(str(table))), defined("other", to_topic("t"))
    for name in ("mine", "mine.dead-letters", "other"):
        os.close(folder.lock(name))
        (folder.folder / name / "checkpoint" / "offsets").mkdir(parents=True)
    (table / "_spark_metadata").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match="--tables"):
        what_is_there(folder, [mine], tables=False)
    assert what_is_there(folder, [mine], tables=True) == [
        folder.folder / "mine",
        folder.folder / "mine.dead-letters",
        table,
    ]
    reset_pipelines(folder, [mine], tables=True)
    assert not table.exists()
    assert not folder.has_checkpoint("mine")
    assert folder.has_checkpoint("other")
    lock = folder.lock("other")
    with pytest.raises(PipelineError, match="stop it first"):
        what_is_there(folder, [other], tables=False)
    os.close(lock)


def test_a_query_for_dead_letters_of_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    @pipeline(sources={"views": from_topic("v", "x INT", dead_letters="d")}, sink=to_topic("t"))
    def mine(views: object) -> None: ...

    folder = RunFolder(tmp_path)

    def batch(name: str, number: int, offset: int, *, done: bool = True) -> None:
        for kind in ("offsets", "commits"):
            (tmp_path / name / "checkpoint" / kind).mkdir(parents=True, exist_ok=True)
        offsets = json.dumps({"v": {"0": offset}, "v@id": {"0": 1, "1": 2}})
        checkpoint = tmp_path / name / "checkpoint"
        (checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{offsets}\n")
        if done:
            (checkpoint / "commits" / str(number)).write_text("v1\n{}")

    replace_former_letters(mine, folder)
    batch("mine", 0, 5)
    batch("mine.dead-letters", 0, 3)
    with pytest.raises(PipelineError, match=r"mine\.dead-letters, which is at other offsets"):
        replace_former_letters(mine, folder)
    batch("mine.dead-letters", 1, 5, done=False)
    with pytest.raises(PipelineError, match="Run that version with --once"):
        replace_former_letters(mine, folder)
    batch("mine.dead-letters", 1, 5)
    batch("mine", 1, 9, done=False)  # it is repeated, and its dead letters are new
    replace_former_letters(mine, folder)
    assert not (tmp_path / "mine.dead-letters").exists()


def test_a_table_of_another_checkpoint_is_not_reset_or_written(tmp_path: Path) -> None:
    # A path that says where it is: nothing is asked of Spark.
    @pipeline(sources={"views": from_topic("v")}, sink=to_parquet(f"file://{tmp_path}/table"))
    def views(views: object) -> None: ...

    def check(folder: RunFolder) -> None:
        views.sink.check(folder.writer_of("views"), Mock(SparkSession))

    first, second = RunFolder(tmp_path / "first"), RunFolder(tmp_path / "second")
    _run_a_batch(first)
    with pytest.raises(InvalidArgument, match="is missing"):
        check(first)
    (tmp_path / "table").mkdir()
    views.sink.table.add("query", 0, lambda _: 0, first.writer_of("views"))
    check(first)
    with pytest.raises(InvalidArgument, match=f"belongs to pipeline views.*{first.folder}"):
        check(second)

    running = first.lock("views")
    with pytest.raises(PipelineError, match=f"belongs to another one.*{first.folder}.*is running"):
        reset_pipelines(second, [views], tables=True)
    os.close(running)
    with pytest.raises(PipelineError) as refused:
        what_is_there(second, [views], tables=True)
    assert f"--checkpoints {first.folder})" in str(refused.value)
    assert "is running" not in str(refused.value)
    assert what_is_there(second, [views], tables=False) == [], "it has nothing to do with it"

    first.reset("views")
    with pytest.raises(InvalidArgument, match="earlier run"):
        check(first)
    reset_pipelines(first, [views], tables=True)
    assert not (tmp_path / "table").exists()
    check(second)


def _run_a_batch(folder: RunFolder) -> None:
    """Leave what Spark leaves in the checkpoint of `views`."""
    checkpoint = Path(folder.checkpoint_of("views"))
    for each in ("offsets", "commits"):
        (checkpoint / each).mkdir(parents=True)
        (checkpoint / each / "0").touch()
    (checkpoint / "metadata").write_text(json.dumps({"id": "query"}))


def test_checkpoints_may_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "p.sql").touch()
    default = tmp_path.resolve() / ".barnabas" / "pipelines"
    assert RunFolder.of(tmp_path, None) == RunFolder(default)
    assert RunFolder.of(tmp_path / "p.sql", None) == RunFolder(default)
    os.close(RunFolder(default).lock("p"))
    assert (default.parent / ".gitignore").read_text() == "*\n"
    assert RunFolder.of(tmp_path, str(tmp_path / "c")) == RunFolder(tmp_path.resolve() / "c")
    far = RunFolder.of(tmp_path, "s3a://bucket/c/")
    assert far.folder == default
    assert far.checkpoint_of("p") == "s3a://bucket/c/p"
    with pytest.raises(PipelineError, match="s3a://bucket/c/p"):
        far.reset("p")


def test_an_avro_schema_becomes_columns() -> None:
    values = AvroValues(
        """{"type": "record", "name": "view", "fields": [
            {"name": "page", "type": "string"},
            {"name": "user", "type": ["null", "long"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "from", "type": {"type": "record", "name": "place", "fields": [
                {"name": "kind", "type": {"type": "enum", "name": "k", "symbols": ["A"]}}]}},
            {"name": "to", "type": ["null", "place"]}]}"""
    )
    assert values.fields.simpleString() == (
        "struct<page:string,user:bigint,at:timestamp,price:decimal(9,0),tags:array<string>,"
        "from:struct<kind:string>,to:struct<kind:string>>"
    )
    assert [each.nullable for each in values.fields.fields] == [0, 1, 0, 0, 0, 0, 1]
    for wrong in ('"string"', '{"type": "map"}', "{"):
        with pytest.raises(InvalidArgument):
            AvroValues(wrong)
