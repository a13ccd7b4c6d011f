"""Kafka's own `MirrorClient` and `RemoteClusterUtils` read what a flow writes into its target.

Needs the JAR files of Kafka, which `BARNABAS_KAFKA_JARS` names, and a JDK.
"""

import os
import subprocess
from pathlib import Path

import pytest

import barnabas
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.formats.internal_topics import HEARTBEATS_TOPIC
from barnabas.mirror.names import remote_topic
from benchmarks import kafka_process
from tests.mirror.copies import make_topic
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

PROGRAM = Path(__file__).with_name("LookAtMirror.java")
GROUP = "billing"


def look(end: ClusterEnd, source: str) -> dict[str, str]:
    jars = f"{os.environ[kafka_process.JARS]}/*"
    done = subprocess.run(
        [
            *(kafka_process.java_program(), "-cp", jars, str(PROGRAM)),
            *(end.bootstrap_servers, source, GROUP),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.skipif(
    not kafka_process.is_available(), reason="set BARNABAS_KAFKA_JARS to test with a real Kafka"
)
def test_offsets_hops_and_heartbeats(ends: tuple[ClusterEnd, ClusterEnd], topic: str) -> None:
    source, target = ends
    flow = Flow(source, target, topics=(topic,))
    copied = remote_topic(flow, topic)
    make_topic(source, topic)
    make_topic(target, copied)
    heartbeats = remote_topic(flow, HEARTBEATS_TOPIC)
    with barnabas.Admin(source.bootstrap_servers) as admin:
        admin.create_topic(HEARTBEATS_TOPIC, partitions=1, exist_ok=True)
    make_topic(target, heartbeats)
    place = barnabas.TopicPartition(topic, 0)
    with barnabas.Producer(source.bootstrap_servers) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, partition=0)
    with (
        barnabas.Admin(source.bootstrap_servers) as here,
        barnabas.Admin(target.bootstrap_servers) as there,
        RunningFlow(flow, {topic: 1, HEARTBEATS_TOPIC: 1}),
    ):
        here.set_group_offsets(GROUP, {place: 60})
        wait_until(lambda: any(there.offsets(copied).values()), "nothing is copied")
        wait_until(
            lambda: there.group_offsets(GROUP).get(barnabas.TopicPartition(copied, 0)) == 60,
            "the group did not go along",
        )
        wait_until(lambda: any(there.offsets(heartbeats).values()), "no heartbeats are copied")
        seen = look(target, source.name)
    assert heartbeats in seen["heartbeats"]
    assert f"{source.name}.checkpoints.internal" in seen["checkpoints"]
    assert copied in seen["remote"]
    assert source.name in seen["upstream"]
    assert seen["hops"] == "1"
    assert seen["offsets"] == f"{{{copied}-0=60}}"
