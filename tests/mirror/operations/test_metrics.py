"""Metrics of a flow on two real clusters: what `status` shows, and what a process has copied."""

import asyncio
import re
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.operations.metrics import METRICS, FlowMetrics
from barnabas.mirror.operations.metrics_server import MirrorMetricsServer
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.status import MirrorStatus, collect_status
from tests.mirror.copies import make_topic
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import LIMIT_S, wait_until
from tests.web.pages_of_others import REQUESTS_OF_PAGES

Ends = tuple[ClusterEnd, ClusterEnd]
_SAMPLE = re.compile(r"([a-z_]+)\{(.*)\} (\S+)")


def read(url: str) -> dict[tuple[str, str], float]:
    """Samples by name and labels."""
    with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    return {
        (each[1], each[2]): float(each[3])
        for line in text.splitlines()
        if (each := _SAMPLE.fullmatch(line))
    }


def status_of(flow: Flow) -> MirrorStatus:
    async def look() -> MirrorStatus:
        async with connect(flow) as clients:
            return await collect_status(flow, clients)

    return asyncio.run(look())


def test_metrics_say_what_status_says(ends: Ends, topic: str) -> None:
    a, b = ends
    group = f"readers-of-{topic}"
    make_topic(a, topic, 2)
    make_topic(b, f"{a.name}.{topic}", 2)
    with barnabas.Producer(a.bootstrap_servers) as producer:
        for each in range(100):
            producer.send(topic, b"%d" % each, partition=each % 2)
    read_here = 0
    with barnabas.Consumer(
        a.bootstrap_servers, topic, group=group, session_timeout_ms=30_000
    ) as consumer:

        def read_all() -> bool:
            nonlocal read_here
            read_here += len(consumer.poll(0.5))
            return read_here == 100

        wait_until(read_all)
    flow = Flow(a, b, topics=(topic,))
    metrics = FlowMetrics(flow)
    wanted = GroupSettings(include=(f"{group}",), interval_s=0.2)
    with (
        MirrorMetricsServer("127.0.0.1", 0, [metrics]) as server,
        RunningFlow(flow, {topic: 2}, wanted, listeners=[metrics]),
    ):
        named = f'flow="{flow.name}"'
        place = f'{named},topic="{topic}",partition="0"'
        of_group = f'{named},group="{group}",topic="{a.name}.{topic}",partition="0"'

        def is_copied() -> dict[tuple[str, str], float] | None:
            found = read(server.url)
            done = found.get(("barnabas_mirror_lag_offsets", place)) == 0
            there = found.get(("barnabas_mirror_group_committed_offset", of_group))
            translated = found.get(("barnabas_mirror_group_translated_offset", of_group))
            # In the target, a marker of a transaction may be between the records.
            done = done and there is not None and there == translated and there >= 50
            seen.update(found)
            return found if done else None

        seen: dict[tuple[str, str], float] = {}
        found = wait_until(is_copied, lambda: f"{seen}")
        assert found["barnabas_mirror_records_total", named] == 100
        assert found["barnabas_mirror_bytes_total", named] > 100
        assert found["barnabas_mirror_reports_total", named] >= 1
        assert found["barnabas_mirror_status_known", named] == 1
        assert found["barnabas_mirror_source_reachable", named] == 1
        assert found["barnabas_mirror_heartbeat_age_seconds", named] >= 0
        assert found["barnabas_mirror_lag_seconds", place] == 0
        assert found["barnabas_mirror_group_upstream_offset", of_group] == 50
        assert {name for name, _ in found} == {each.name for each in METRICS}
        groups = {name for name, labels in found if 'group="' in labels and group not in labels}
        assert not groups, "groups that were not asked for"
        shown = status_of(flow)
        assert shown.lag == 0
        assert {each.partition: each.position for each in shown.partitions} == {
            at: found["barnabas_mirror_position_offset", place.replace('"0"', f'"{at}"')]
            for at in range(2)
        }
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(server.url.replace("/metrics", "/"))
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        with (
            pytest.raises(InvalidArgument, match="metrics can't be served"),
            MirrorMetricsServer("127.0.0.1", port, []),
        ):
            pass


def test_a_deleted_topic_has_no_lag_and_does_not_hide_others(ends: Ends, topic: str) -> None:
    a, b = ends
    gone = f"{topic}-gone"
    for each in (topic, gone):
        make_topic(a, each)
        make_topic(b, f"{a.name}.{each}")
        with barnabas.Producer(a.bootstrap_servers) as producer:
            producer.send(each, b"1")
    flow = Flow(a, b, topics=(topic, gone))
    with RunningFlow(flow, {topic: 1, gone: 1}):
        wait_until(lambda: [each.lag for each in status_of(flow).partitions] == [0, 0])
    with barnabas.Admin(a.bootstrap_servers) as admin:
        admin.delete_topic(gone)
        wait_until(lambda: gone not in admin.topics())
    lags = {each.topic: each.lag for each in status_of(flow).partitions}
    assert lags == {topic: 0, gone: None}


def test_a_cluster_that_is_away_is_said(ends: Ends) -> None:
    a, b = ends
    away = replace(a, bootstrap_servers="127.0.0.1:1")
    metrics = [FlowMetrics(Flow(away, b)), FlowMetrics(Flow(b, away))]
    with MirrorMetricsServer("127.0.0.1", 0, metrics) as server:
        found = read(server.url)
    here, there = (f'flow="{each.flow.name}"' for each in metrics)
    assert found["barnabas_mirror_status_known", here] == 1
    assert found["barnabas_mirror_source_reachable", here] == 0
    assert found["barnabas_mirror_status_known", there] == 0


def test_web_pages_read_nothing() -> None:
    """Neither those of other sites, nor one whose name has this address now."""
    with MirrorMetricsServer("127.0.0.1", 0, []) as server:
        assert read(server.url) == {}
        for headers in REQUESTS_OF_PAGES:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(urllib.request.Request(server.url, headers=headers))
