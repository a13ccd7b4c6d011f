"""Reports of running pipelines, on a real broker."""

import subprocess
import sys

import pytest

import barnabas
from barnabas.errors import NotAuthorized
from barnabas.flow.reports import TOPIC, decode, key_of
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.run.progress import Progress, read_batch
from barnabas.spark.pipelines.run.progress_reports import ProgressReports
from barnabas.wire.errors import ErrorCode
from tests.console.reports import report_of
from tests.support.wait import wait_until


def test_states_are_reported_at_once_and_others_now_and_then() -> None:
    with barnabas.Cluster() as cluster:
        reports = ProgressReports(ClusterAddress(cluster.bootstrap_servers))
        reports.publish([report_of("revenue", host=None), report_of("clicks", host=None)])
        wait_until(lambda: len(_read(cluster)) == 2)
        reports.publish([report_of("revenue", host=None), report_of("clicks", host=None, lag=9)])
        reports.publish([report_of("revenue", host=None, state="failed", error="no")])
        reports.close()
        found = _read(cluster)
    # Neither the one that is as it was, nor within two seconds the one that only got on.
    assert [(each["pipeline"], each["state"]) for each in found] == [
        ("revenue", "running"),
        ("clicks", "running"),
        ("revenue", "failed"),
    ]
    assert all(key_of(each).endswith(f"/{each['pipeline']}") for each in found)


def test_a_cluster_that_is_away_holds_up_nothing() -> None:
    reports = ProgressReports(ClusterAddress("localhost:1"))
    reports.publish([report_of("revenue")])
    reports.close()


_RUN = """
import sys
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.run.progress_reports import ProgressReports
from tests.console.reports import report_of

reports = ProgressReports(ClusterAddress(sys.argv[1]))
reports.publish([report_of("revenue", host=None)])
sys.stdin.readline()
reports.publish([report_of("revenue", host=None, state="stopped")])
reports.close()
"""


def test_a_run_ends_cleanly_while_the_cluster_is_away() -> None:
    with barnabas.Cluster() as cluster:
        run = subprocess.Popen(
            [sys.executable, "-c", _RUN, cluster.bootstrap_servers],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: len(_read(cluster)) == 1)
    _, errors = run.communicate("the cluster is away\n")
    assert (run.returncode, errors) == (0, "")


def test_a_refusal_is_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    reports = ProgressReports(ClusterAddress("localhost:1"))
    for what in ("create", "describe"):
        refused = NotAuthorized(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"may not {what}")
        reports._warn_once(refused)
    reports.close()
    (said,) = [each for each in caplog.messages if "may not" in each]
    assert "may not create; allow this user create, describe and write" in said
    assert "--no-report" in said


def _read(cluster: barnabas.Cluster) -> list[dict[str, object]]:
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        if TOPIC not in admin.topics(internal=True):
            return []
        end = next(iter(admin.offsets(TOPIC).values()))
    partition = barnabas.TopicPartition(TOPIC, 0)
    found = []
    with barnabas.Consumer(cluster.bootstrap_servers) as consumer:
        consumer.assign({partition: 0})
        while consumer.position(partition) < end:
            found += [decode(each.value) for each in consumer.poll(1.0)]
    return [each for each in found if each is not None]


def test_records_of_each_topic_are_counted() -> None:
    report = {
        "batchId": 3,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "batchDuration": 1000,
        "sources": [
            {"startOffset": {"a": {"0": 5, "1": 5}}, "endOffset": {"a": {"0": 15, "1": 5}}},
            {"startOffset": None, "endOffset": '{"b": {"0": 30}, "b@id": {"0": 1}}'},
            {"startOffset": "7", "endOffset": "9"},
        ],
    }
    batch = read_batch(report)
    assert batch.read == {"a": 10, "b": 30}
    progress = Progress()
    progress.add(batch)
    assert progress.topic_rates(batch.began + 2) == {"a": 5.0, "b": 15.0}
    assert progress.topic_rates(batch.began + 60) == {"a": 0.0, "b": 0.0}
