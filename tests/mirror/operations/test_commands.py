"""`barnabas mirror status, verify, failover, failback` on two real clusters."""

import json
import subprocess
import sys

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.names import remote_topic
from tests.mirror.copies import make_topic
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

GROUP = "billing"


def mirror(command: str, flow: Flow, *options: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    ends = [f"--from={flow.source.name}={flow.source.bootstrap_servers}"]
    ends += [f"--to={flow.target.name}={flow.target.bootstrap_servers}"]
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "mirror", command, *ends, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def produce(end: ClusterEnd, topic: str, count: int) -> None:
    with barnabas.Producer(end.bootstrap_servers) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=0)


def commit(end: ClusterEnd, topic: str, offset: int) -> None:
    with barnabas.Admin(end.bootstrap_servers) as admin:
        admin.set_group_offsets(GROUP, {TopicPartition(topic, 0): offset})


def committed(end: ClusterEnd, topic: str) -> int | None:
    with barnabas.Admin(end.bootstrap_servers) as admin:
        offsets = admin.group_offsets(GROUP)
    return {name.topic: offset for name, offset in offsets.items()}.get(topic)


def test_a_flow_that_has_copied_nothing_is_not_failed_over(
    ends: tuple[ClusterEnd, ClusterEnd],
) -> None:
    code, said = mirror("failover", Flow(*ends))
    assert code, said
    assert "has copied nothing" in said
    assert "--names" in said


def test_lag_groups_comparison_and_failover(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    source, target = ends
    flow = Flow(source, target, topics=(topic,))
    copied = remote_topic(flow, topic)
    make_topic(source, topic)
    make_topic(target, copied)
    produce(source, topic, 100)
    commit(source, topic, 60)

    with RunningFlow(flow, {topic: 1}) as running:

        def status() -> dict[str, object]:
            return json.loads(mirror("status", flow, "--json")[1])

        def is_copied() -> bool:
            (partition,) = status()["partitions"] or [{}]
            return partition.get("lag") == 0

        wait_until(is_copied, lambda: str(status()))
        wait_until(lambda: committed(target, copied) == 60, "the group did not go along")
        code, said = mirror("verify", flow)
        assert code == 0, said

        code, said = mirror("failover", flow)
        assert code == 0, said
        assert f"everything that is known of {source.name} is copied" in said
        assert GROUP in said
        wait_until(lambda: running.was_stopped, "the flow goes on")

    produce(target, copied, 1)  # nobody writes there while the mirror runs
    code, said = mirror("verify", flow)
    assert code == 0, f"what was written after the failover is no difference: {said}"

    produce(source, topic, 5)
    code, said = mirror("failover", flow, "--force")
    assert code == 0, said
    assert f"not copied: {topic}-0, offsets 100 to 104 (5 offsets)" in said
