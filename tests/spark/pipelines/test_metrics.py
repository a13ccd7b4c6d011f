"""Metrics of pipelines in Prometheus' format, as its own parser reads them."""

import urllib.request
from urllib.error import HTTPError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.flow.lag_time import LagTime
from barnabas.spark.pipelines.run.batch_durations import batch_durations
from barnabas.spark.pipelines.run.metrics import Status, exposition
from barnabas.spark.pipelines.run.metrics_server import MetricsServer
from tests.web.pages_of_others import REQUESTS_OF_PAGES

NOW = 1_767_225_700.0
STATUS: Status = {
    "pipeline": "views",
    "state": "running",
    "started": NOW - 60,
    "batches": 3,
    "batch_ended": NOW - 1,
    "rows_in": 1_234,
    "rows_out": 8,
    "rows_late": 2,
    "dead_letters": 1,
    "expectations": [{"rule": 'views.say "hi"', "passed": 7, "failed": 1}],
    "rows_in_per_s": 12.4,
    "rows_out_per_s": 0.0,
    "lag": 5,
    "lag_s": 2.5,
    "watermark": "2026-01-01T00:01:00.000Z",
    "state_rows": 44,
    "state_bytes": 12_300,
    "restarts": 1,
}


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Values by name and labels, all but the pipeline's."""
    return {
        (each.name, *(value for name, value in each.labels.items() if name != "pipeline")): (
            each.value
        )
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_every_number_of_a_status_is_exported() -> None:
    durations = batch_durations()
    for each in (0.05, 0.2, 99.0):
        durations.observe(each)
    text = exposition([(STATUS, durations)], NOW)
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert all(each.documentation and each.type != "unknown" for each in families.values())
    found = samples(text)
    name = "barnabas_pipeline_"
    assert found[f"{name}rows_in_total",] == 1_234
    assert found[f"{name}late_rows_total",] == 2
    assert found[f"{name}dead_letters_total",] == 1
    assert found[f"{name}restarts_total",] == 1
    assert found[f"{name}lag_records",] == 5
    assert found[f"{name}lag_seconds",] == 2.5
    assert found[f"{name}watermark_delay_seconds",] == 40
    assert found[f"{name}state_bytes",] == 12_300
    assert found[f"{name}expectation_rows_total", 'views.say "hi"', "failed"] == 1
    assert found[f"{name}state", "running"] == 1
    assert found[f"{name}state", "failed"] == 0
    assert found[f"{name}batch_duration_seconds_bucket", "0.05"] == 1
    assert found[f"{name}batch_duration_seconds_bucket", "0.25"] == 2
    assert found[f"{name}batch_duration_seconds_bucket", "60"] == 2
    assert found[f"{name}batch_duration_seconds_bucket", "+Inf"] == 3
    assert found[f"{name}batch_duration_seconds_count",] == 3


def test_what_a_pipeline_does_not_have_is_left_out() -> None:
    nothing = dict.fromkeys(("lag", "lag_s", "watermark", "state_rows", "batch_ended"))
    text = exposition([(STATUS | nothing, batch_durations())], NOW)
    names = {each[0] for each in samples(text)}
    assert "barnabas_pipeline_rows_in_total" in names
    assert not {f"barnabas_pipeline_{each}" for each in ("lag_records", "state_rows")} & names


def test_the_server_serves_what_was_published_last() -> None:
    with MetricsServer("127.0.0.1", 0) as server:
        for rows in (1, 2):
            server.publish([(STATUS | {"rows_in": rows}, batch_durations())])
        with urllib.request.urlopen(server.url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert samples(answer.read().decode())["barnabas_pipeline_rows_in_total",] == 2
        with pytest.raises(HTTPError, match="404"):
            urllib.request.urlopen(server.url.replace("metrics", "other"))
        port = int(server.url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="in use"):
            MetricsServer("127.0.0.1", port)


def test_web_pages_read_nothing() -> None:
    """Neither those of other sites, nor one whose name has this address now."""
    with MetricsServer("127.0.0.1", 0) as server:
        for headers in REQUESTS_OF_PAGES:
            with pytest.raises(HTTPError, match="403"):
                urllib.request.urlopen(urllib.request.Request(server.url, headers=headers))


def test_the_lag_in_seconds_is_the_age_of_the_oldest_record_that_was_not_read() -> None:
    lag = LagTime()
    assert lag.seconds(100) == 0
    lag.add(100, there=10, read=10)
    assert lag.seconds(105) == 0
    lag.add(110, there=20, read=15)
    assert lag.seconds(111) == 1
    lag.add(120, there=30, read=19)
    assert lag.seconds(121) == 11
    lag.add(130, there=30, read=20)
    assert lag.seconds(131) == 11, "since 120"
    lag.add(140, there=30, read=30)
    assert lag.seconds(141) == 0
    lag.add(150, there=5, read=0)
    assert lag.seconds(151) == 1, "a topic that was created again"


def test_a_long_backlog_takes_little_memory() -> None:
    lag = LagTime()
    for each in range(5_000):
        lag.add(each, there=10 + each, read=0)
    assert lag.seconds(5_000) == 5_000
    assert len(lag._seen) <= 1_001
