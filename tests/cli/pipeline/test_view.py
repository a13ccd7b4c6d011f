"""What a run of pipelines prints."""

from barnabas.cli.pipeline.view import Status, line_of

STATUS: Status = {
    "pipeline": "views",
    "state": "running",
    "batch": 12,
    "batch_duration_ms": 150,
    "rows_in": 1_234,
    "rows_out": 8,
    "rows_in_per_s": 12.4,
    "rows_out_per_s": None,
    "lag": 0,
    "watermark": None,
    "state_rows": 0,
    "error": None,
}


def test_a_line_tells_totals_from_the_last_batch() -> None:
    assert line_of(STATUS) == (
        "views  running  batch 12 in 150 ms  total in 1,234, out 8  rows/s 12, -  lag 0"
    )


def test_a_pipeline_without_a_batch_has_no_totals() -> None:
    assert line_of(STATUS | {"batch": None, "lag": None}) == "views  running"


def test_dead_letters_and_failed_rules_are_shown() -> None:
    rule = {"rule": "views.short", "condition": "x", "on_failure": "drop"}
    status = STATUS | {
        "batch": None,
        "lag": None,
        "dead_letters": 1_200,
        "expectations": [
            {**rule, "passed": 995, "failed": 5},
            {**rule, "rule": "fine", "passed": 9, "failed": 0},
        ],
    }
    assert line_of(status) == (
        "views  running  dead letters 1,200  5 of 1,000 rows failed views.short (drop)"
    )
