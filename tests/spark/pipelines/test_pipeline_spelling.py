"""What is misspelt in a definition is refused when it is defined, without Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    from_files,
    from_table,
    from_topic,
    load,
    pipeline,
    to_console,
    to_parquet,
    to_topic,
)
from barnabas.spark.pipelines.interval import is_interval, is_period


@pytest.mark.parametrize(
    ("define", "complaint"),
    [
        (lambda: from_topic("t", watermrk="at 5 minutes"), "did you mean watermark?"),
        (lambda: from_topic("t", "x INT", deadletters="d"), "did you mean dead_letters?"),
        (lambda: from_topic("t", maxOffsetPerTriger=1), "did you mean maxOffsetsPerTrigger?"),
        (lambda: from_topic("t", nonsense=1), "unknown argument or option 'nonsense'"),
        (lambda: from_topic("t", kafka__fetch__max__byte=1), "did you mean kafka.fetch.max.bytes?"),
        (lambda: from_topic("t", kafka__acks=1), "consumers have no setting 'acks'"),
        (lambda: from_topic("t", maxOffsetsPerTrigger="many"), "is a number of at least 1"),
        (lambda: from_topic("t", starting_offsets="lates"), "startingOffsets"),
        (lambda: from_topic("t", watermark="5 minutes at"), 'a delay such as "at 10 minutes"'),
        (lambda: from_topic("t", watermark="at ten minutes"), 'a delay such as "at 10 minutes"'),
        (lambda: from_files("f", "x INT", watermark="at"), 'a delay such as "at 10 minutes"'),
        (lambda: from_table("t", "x INT", kye="k"), "did you mean key?"),
        (lambda: to_topic("t", kee="shop"), "did you mean key?"),
        (lambda: to_topic("t", exactlyonce=True), "did you mean exactly_once?"),
        (lambda: to_topic("t", kafka__ack="1"), "did you mean kafka.acks?"),
        (lambda: to_topic("t", kafka__acks="some"), "kafka.acks is all"),
        (lambda: from_files("f", "x INT", watermrk="at 5 minutes"), "did you mean watermark?"),
        (lambda: to_parquet("p", partitionBy="day"), "did you mean partition_by?"),
        (lambda: to_console(numrow=1), "did you mean numRows?"),
    ],
)
def test_a_misspelt_argument_is_refused(define: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        define()
    assert complaint in str(caught.value)


def test_options_of_the_connector_and_of_spark_are_taken() -> None:
    source = from_topic("t", maxoffsetspertrigger=5, kafka__client__id="me", failOnDataLoss=False)
    assert source.options == {
        "maxoffsetspertrigger": "5",
        "kafka.client.id": "me",
        "failOnDataLoss": "false",
    }
    assert from_table("t", "x INT", endingOffsets="latest").options == {"endingOffsets": "latest"}
    assert to_topic("t", kafka__acks=1, includeHeaders=True).options["kafka.acks"] == "1"
    for name in ("header", "dateFormat", "mergeSchema", "maxFilesPerTrigger", "pathGlobFilter"):
        assert from_files("f", "x INT", **{name: "1"}).options == {name: "1"}
    assert to_parquet("p", compression="zstd").options == {"compression": "zstd"}
    assert to_console(numRows=5, truncate=False).options == {"numRows": "5", "truncate": "false"}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("-- triger: 5 seconds", 'did you mean "-- trigger: ..."?'),
        ("-- Trigger: 5 seconds", 'did you mean "-- trigger: ..."?'),
        ("--  trigger: 5 seconds", 'did you mean "-- trigger: ..."?'),
        ("-- sorce orders: topic orders", 'did you mean "-- source NAME: ..."?'),
        ("-- source: topic orders", 'did you mean "-- source NAME: ..."?'),
        ("-- output mode: update", 'did you mean "-- output_mode: ..."?'),
        ("-- output-mode: update", 'did you mean "-- output_mode: ..."?'),
        ("-- config: a=b", 'did you mean "-- conf: NAME=VALUE"?'),
        (
            "-- trigger: five seconds",
            'trigger must be an interval such as "10 seconds", not "five seconds"',
        ),
        ("-- trigger: once", "run --once"),
        ('-- source o: topic o watermrk="at 5 minutes"', "source o: no argument 'watermrk'"),
        ("-- source o: topic o kafka.fetch.max.byte=1", "did you mean kafka.fetch.max.bytes?"),
        ("-- source o: topic o schema='x INT' skip_undecodable=yes", "is true or false, not 'yes'"),
    ],
)
def test_a_misspelt_line_of_a_header_is_refused(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "p.sql").write_text(f"{line}\n-- sink: topic t\nSELECT 1")
    with pytest.raises(InvalidArgument, match=r"p\.sql") as caught:
        load(tmp_path / "p.sql")
    assert complaint in str(caught.value)


def test_a_key_that_is_misspelt_in_sql_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text("-- sink: topic t-out kee=shop\nSELECT 1")
    with pytest.raises(InvalidArgument, match=r"sink: no argument 'kee': did you mean key\?"):
        load(tmp_path / "p.sql")


def test_prose_is_prose(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text(
        "-- p.sql\n"
        "-- Orders by shop: what each has sold.\n"
        "-- Note: it is written for the dashboard, at http://host:80\n"
        "-- TODO: ask the shops\n"
        "-- the source of it all is the till; sinks: see below\n"
        "-- key: the shop\n"
        "-- source orders: topic orders\n"
        "-- sink: topic t kafka.acks=1\n"
        "SELECT 1\n"
        "-- sorce x: behind the query all is said\n"
    )
    found = load(tmp_path / "p.sql")["p"]
    assert list(found.sources) == ["orders"]
    assert found.sink == to_topic("t", kafka__acks=1)


def test_a_trigger_is_a_time_that_spark_takes() -> None:
    for good in (
        "5 seconds",
        "1 minute 30 seconds",
        "INTERVAL 2 Hours",
        "0 seconds",
        "1.5 seconds",
    ):
        assert is_period(good), good
    for bad in ("five seconds", "5", "5s", "5 sec", "-1 seconds", "5 seconds later", "1.5 hours"):
        assert not is_interval(bad), bad
    assert is_interval("1 month")
    assert not is_period("1 month")
    with pytest.raises(InvalidArgument, match="pipeline p: trigger must be an interval"):

        @pipeline(sources={"a": from_topic("a")}, sink=to_topic("t"), trigger="5 sec")
        def p(a: object) -> None: ...
