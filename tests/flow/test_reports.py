"""Reports of pipelines: any client may write them."""

import json

import pytest

from barnabas.flow.reports import checked, decode, encode, key_of
from tests.console.reports import report_of


def test_a_report_survives() -> None:
    report = report_of("revenue", connector="shop")
    found = decode(encode(report))
    assert found is not None
    assert found["reads"] == [("topic", "orders")]
    assert found["read_per_s"] == {"orders": 120.0}
    assert {name: found[name] for name in ("lag", "connector", "pid")} == {
        "lag": 17,
        "connector": "shop",
        "pid": 4711,
    }
    assert key_of(found) == "vm:/srv/pipelines/revenue"


@pytest.mark.parametrize(
    "value",
    [None, b"", b"\xff", b"[]", b"{}", b'{"pipeline": 7}', b"[" * 100_000, b"NaN"],
)
def test_what_is_no_report_is_left_out(value: bytes | None) -> None:
    assert decode(value) is None


def test_fields_of_other_types_are_unknown() -> None:
    hostile = {
        "pipeline": "x" * 10_000,
        "lag": "<script>",
        "pid": True,
        "rows_in": 1e300,
        "error": {"a": 1},
        "reads": [["topic"], "topic", [1, 2], ["topic", "orders"], None],
        "writes": {"a": 1},
        "read_per_s": {"orders": "many", "other": 3},
        "expectations": ["x", {"rule": 1, "passed": "all"}],
        "dead_letter_topics": [None, "bad"],
    }
    found = checked(json.loads(json.dumps(hostile)))
    assert len(found["pipeline"]) < 10_000
    for name in ("lag", "pid", "rows_in", "error"):
        assert found[name] is None
    assert found["reads"] == [("topic", "orders")]
    assert found["writes"] == []
    assert found["read_per_s"] == {"other": 3}
    assert found["dead_letter_topics"] == ["bad"]
    assert found["expectations"] == [
        {"rule": None, "condition": None, "on_failure": None, "passed": None, "failed": None}
    ]


def test_a_pipeline_does_not_read_another_pipeline() -> None:
    places = [["pipeline", "x"], ["connector", "y"], ["table", "z"]]
    assert checked({"pipeline": "p", "reads": places})["reads"] == [("table", "z")]
