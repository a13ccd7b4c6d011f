"""Rules for rows: what passes, what becomes of the rest, and how both are counted."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.dead_letters.letter_writer import LetterTopic
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    expect,
    from_files,
    from_topic,
    load,
    pipeline,
    to_console,
    to_topic,
)
from barnabas.spark.pipelines.environment import BrokerRecords, Environment
from barnabas.spark.pipelines.errors.known_causes import known_cause
from barnabas.spark.pipelines.expectations.rule_counts import RuleCount, read_counts
from barnabas.spark.testing import Record, running

ORDERS = "id BIGINT, amount DOUBLE"
SOME = ({"id": 1, "amount": 5}, {"id": 2, "amount": -1}, {"id": 3, "amount": None})


def orders_that(*of_source: Any, result: tuple[Any, ...] = (), **arguments: Any) -> Pipeline:
    @pipeline(
        sources={"orders": from_topic("orders", ORDERS, expect=of_source, **arguments)},
        sink=to_topic("out"),
        expect=result,
    )
    def checked_orders(orders: DataFrame) -> DataFrame:
        return orders.select("id", "amount")

    return checked_orders


def test_warn_and_drop_count_every_rule(spark: SparkSession) -> None:
    known = expect("id IS NOT NULL", "known")
    positive = expect("amount > 0", "positive", on_failure="drop")
    result = expect("id < 3", on_failure="drop")
    with running(orders_that(known, positive, result=(result,)), spark=spark) as run:
        assert run.expectations()["orders.known"] == {"passed": 0, "failed": 0}
        run.feed("orders", *SOME)
        run.feed("orders", {"id": 4, "amount": 1})
        assert [each["id"] for each in run.rows()] == [1], "NULL is no pass, and 4 is too large"
        assert run.expectations() == {
            "orders.known": {"passed": 4, "failed": 0},
            "orders.positive": {"passed": 2, "failed": 2},
            "id < 3": {"passed": 1, "failed": 1},
        }


def test_fail_names_the_rule_and_a_row(spark: SparkSession) -> None:
    rule = expect("amount > 0", "positive", on_failure="fail")
    with running(orders_that(result=(rule,)), spark=spark) as run:
        run.feed("orders", {"id": 1, "amount": 2})
        complaint = r'expectation positive \(amount > 0\): \{"id":2,"amount":-1.0\}'
        with pytest.raises(PipelineError, match=complaint) as raised:
            run.feed("orders", *SOME)
    cause = known_cause(str(raised.value))
    assert cause is not None
    assert cause.retry == "never"


def test_dead_letters_of_rules_and_of_the_schema(spark: SparkSession) -> None:
    positive = expect("amount > 0", "positive", on_failure="dead_letter")
    known = expect("id <> 2", on_failure="dead_letter")
    small = expect("amount < 100", "small", on_failure="drop")
    orders = orders_that(positive, known, small, dead_letters="bad", key="k")
    with running(orders, spark=spark) as run:
        sent = Record(b'{"id": 2, "amount": -1}', "b", headers=[("h", b"x"), ("n", None)])
        run.feed("orders", {"id": 1, "amount": 5, "k": "a"}, sent, b"no JSON")
        run.feed("orders", {"id": 3, "amount": 0, "k": "c"}, {"id": 4, "amount": 500, "k": "d"})
        assert [each["id"] for each in run.rows()] == [1]
        first, broken, last = run.dead_letters()
        assert run.expectations()["orders.positive"] == {"passed": 2, "failed": 2}
    assert (first["key"], first["value"]) == (b"b", sent.value)
    assert first["headers"] == {
        "h": b"x",
        "n": None,
        "dead-letter.topic": b"orders",
        "dead-letter.partition": b"0",
        "dead-letter.offset": b"1",
        "dead-letter.timestamp": b"2026-01-01T00:00:00.000Z",
        "dead-letter.reason": b"expectation positive: amount > 0; expectation id <> 2",
    }
    reasons = [each["headers"]["dead-letter.reason"] for each in (broken, last)]
    assert reasons == [
        b"the value is not a JSON object: no JSON",
        b"expectation positive: amount > 0",
    ]


def test_dead_letters_of_a_rule_that_was_removed_are_still_counted(spark: SparkSession) -> None:
    cluster = ClusterAddress("localhost:9092")
    environment = Environment(spark, BrokerRecords(cluster), cluster)
    ruled = expect("amount > 0", "positive", on_failure="dead_letter")
    for rules in ([ruled], []):
        source = from_topic("orders", ORDERS, dead_letters="bad", expect=rules)
        targets = source.letter_targets(environment)
        groups = [each.group for each in targets if isinstance(each, LetterTopic)]
        assert groups == ["dead-letters", "dead-letters.expectations"]
    assert from_topic("orders", ORDERS).letter_targets(environment) == []


def test_records_without_a_schema_can_be_dead_letters_too(spark: SparkSession) -> None:
    @pipeline(
        sources={
            "raw": from_topic(
                "raw",
                dead_letters="bad",
                expect=[expect("length(value) < 4", "short", on_failure="dead_letter")],
            )
        },
        sink=to_topic("out"),
    )
    def short(raw: DataFrame) -> DataFrame:
        return raw.select("value")

    with running(short, spark=spark) as run:
        run.feed("raw", b"abc", Record(b"abcd", b"k"), Record(None))
        assert run.rows() == [{"value": b"abc"}]
        letters = [(each["key"], each["value"]) for each in run.dead_letters()]
    assert letters == [(b"k", b"abcd"), (None, None)], "NULL fails too"


def test_a_refused_time_does_not_move_the_watermark(spark: SparkSession) -> None:
    @pipeline(
        sources={
            "views": from_topic(
                "views",
                "page STRING, at TIMESTAMP",
                watermark="at 10 minutes",
                expect=[expect("at < '2027-01-01'", "plausible", on_failure="drop")],
            )
        },
        sink=to_topic("out"),
    )
    def per_page(views: DataFrame) -> DataFrame:
        return views.dropDuplicatesWithinWatermark(["page"])

    with running(per_page, spark=spark) as run:
        run.feed("views", {"page": "/a", "at": "2026-01-01T00:00:00Z"})
        run.feed("views", {"page": "/b", "at": "2099-01-01T00:00:00Z"})
        run.feed("views", {"page": "/c", "at": "2026-01-01T00:00:01Z"})
        assert [each["page"] for each in run.rows()] == ["/a", "/c"]


def test_rules_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "good_orders.sql"
    file.write_text(
        "-- source orders: topic orders schema='id BIGINT, amount DOUBLE'\n"
        "-- expect orders.positive: amount > 0 on_failure=drop\n"
        "-- expect small: amount < 10\n"
        "-- expect: id IS NOT NULL OR\n"
        "--     amount = 0\n"
        "-- sink: topic out\n"
        "SELECT id, amount FROM orders\n"
    )
    defined = load(file)["good_orders"]
    with running(defined, spark=spark) as run:
        run.feed("orders", *SOME, {"id": 4, "amount": 20})
        assert [each["id"] for each in run.rows()] == [1, 4]
        assert run.expectations() == {
            "orders.positive": {"passed": 2, "failed": 2},
            "small": {"passed": 1, "failed": 1},
            "id IS NOT NULL OR amount = 0": {"passed": 2, "failed": 0},
        }


@pytest.mark.parametrize(
    ("directive", "complaint"),
    [
        ("-- expect views.x: a > 0", "no source 'views'; use orders"),
        ("-- expect x: a > 0 on_failure=stop", "unknown on_failure 'stop'; use warn, drop"),
        ("-- expect x:", "expectation x has no condition"),
        ("-- expects x: a > 0", 'did you mean "-- expect NAME: CONDITION'),
        ("-- expect x: a > 0 on_failure=dead_letter", "is for rules of a source"),
        ("-- expect orders.x: a > 0 on_failure=dead_letter", "needs a topic"),
        ("-- expect x: a > 0\n-- expect x: b > 0", "two expectations are named 'x'"),
    ],
)
def test_mistakes_in_sql(tmp_path: Path, directive: str, complaint: str) -> None:
    file = tmp_path / "p.sql"
    file.write_text(
        f"-- source orders: topic orders schema='a INT'\n{directive}\n-- sink: console\nSELECT 1"
    )
    with pytest.raises(InvalidArgument, match=complaint):
        load(file)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (expect("amont > 0", "positive"), r"positive \(amont > 0\): .*amont.*`amount`"),
        (expect("amount >"), r"expectation \(amount >\): .*PARSE_SYNTAX_ERROR"),
        (expect("amount + 1", "more"), "expectation more: 'amount . 1' is DOUBLE"),
    ],
)
def test_wrong_conditions_are_found_before_anything_starts(
    spark: SparkSession, rule: Any, complaint: str
) -> None:
    with (
        pytest.raises(
            PipelineError, match=f"^pipeline checked_orders: expect of source orders: .*{complaint}"
        ),
        running(orders_that(rule), spark=spark),
    ):
        pass
    with (
        pytest.raises(InvalidArgument, match=f"^pipeline checked_orders: .*{complaint}"),
        running(orders_that(result=(rule,)), spark=spark),
    ):
        pass


def test_mistakes_in_python() -> None:
    with pytest.raises(InvalidArgument, match="expect takes a list of rules"):
        from_topic("orders", ORDERS, expect=expect("a > 0"))
    with pytest.raises(InvalidArgument, match=r"expect takes rules as expect\('a > 0'\)"):
        from_topic("orders", ORDERS, expect=["a > 0"])
    with pytest.raises(InvalidArgument, match="is for sources of topics"):
        from_files("f", ORDERS, expect=[expect("a > 0", on_failure="dead_letter")])
    with pytest.raises(InvalidArgument, match="is for rules of a source"):

        @pipeline(
            sources={"orders": from_topic("orders", ORDERS)},
            sink=to_console(),
            expect=[expect("a > 0", on_failure="dead_letter")],
        )
        def refused(orders: DataFrame) -> DataFrame:
            return orders


def test_counts_of_a_report() -> None:
    observed = {
        "barnabas_output": {"rows": 9},
        "barnabas_expectations.a.b": {"rows": 5, "failed.x": 2, "failed.y.z": 0},
        "barnabas_expectations": {"rows": 3, "failed.x": 3},
    }
    assert read_counts(observed) == {
        "a.b.x": RuleCount(3, 2),
        "a.b.y.z": RuleCount(5, 0),
        "x": RuleCount(0, 3),
    }
