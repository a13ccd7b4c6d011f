"""`barnabas mirror status, verify, failover, failback` on two real clusters."""

import json
import sys

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.names import HEARTBEATS, remote_topic
from tests.mirror.copies import copy, make_topic
from tests.mirror.running_flow import RunningFlow
from tests.support import fork_server
from tests.support.wait import wait_until

GROUP = "billing"


def mirror(command: str, flow: Flow, *options: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    ends = [f"--from={flow.source.name}={flow.source.bootstrap_servers}"]
    ends += [f"--to={flow.target.name}={flow.target.bootstrap_servers}"]
    done = fork_server.run(
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


def commit(end: ClusterEnd, topic: str, offset: int, group: str = GROUP) -> None:
    with barnabas.Admin(end.bootstrap_servers) as admin:
        admin.set_group_offsets(group, {TopicPartition(topic, 0): offset})


def committed(end: ClusterEnd, topic: str, group: str = GROUP) -> int | None:
    with barnabas.Admin(end.bootstrap_servers) as admin:
        offsets = admin.group_offsets(group)
    return {name.topic: offset for name, offset in offsets.items()}.get(topic)


def test_a_flow_that_has_copied_nothing_is_not_failed_over(
    ends: tuple[ClusterEnd, ClusterEnd],
) -> None:
    code, said = mirror("failover", Flow(*ends))
    assert code, said
    assert "has copied nothing" in said
    assert "--names" in said


def test_partitions_without_a_position_are_named(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    flow = Flow(*ends)
    for end, name in ((flow.source, topic), (flow.target, remote_topic(flow, topic))):
        make_topic(end, name, 3)
    with barnabas.Producer(flow.source.bootstrap_servers) as producer:
        for partition in (0, 1):  # nothing is missing of an empty one
            producer.send(topic, b"value", partition=partition)
    copy(flow, topic)
    found = json.loads(mirror("status", flow, "--json")[1])
    assert found["never_copied"] == [{"topic": topic, "partition": 1}]
    assert f"partition {topic}-1 is not copied yet" in mirror("status", flow)[1]


def test_heartbeats_do_not_count_as_records_copied(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    flow, reports = Flow(*ends), Reports()
    make_topic(flow.source, topic)
    produce(flow.source, topic, 3)
    beats = remote_topic(flow, HEARTBEATS)
    with (
        barnabas.Admin(flow.target.bootstrap_servers) as admin,
        RunningFlow(flow, {topic: 1, HEARTBEATS: 1}, listeners=[reports]),
    ):
        wait_until(lambda: beats in admin.topics() and sum(admin.offsets(beats).values()) > 5)
        wait_until(lambda: reports.records >= 3)
    assert reports.records == 3


class Reports:
    """Adds up what was copied."""

    def __init__(self) -> None:
        self.records = 0

    def on_report(self, report: CopyReport) -> None:
        self.records += report.records


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


@pytest.mark.long
def test_only_chosen_groups_fail_over_and_go_back_with_prefixes(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    source, target = ends
    flow = Flow(source, target, topics=(topic,))
    back = Flow(target, source, topics=(topic,))
    copied, returned = remote_topic(flow, topic), remote_topic(back, topic)
    for end, names in ((source, (topic, returned)), (target, (topic, copied))):
        for name in names:
            make_topic(end, name)
    chosen, other = f"chosen-{topic}", f"other-{topic}"
    nothing = GroupSettings(include=())  # so that the command is the one that commits

    produce(source, topic, 100)
    for group in (chosen, other):
        commit(source, topic, 60, group)
    with (
        RunningFlow(flow, {topic: 1}, nothing),
        barnabas.Admin(target.bootstrap_servers) as admin,
    ):
        wait_until(lambda: any(admin.offsets(copied).values()), "nothing is copied")
        code, said = mirror("failover", flow, "--groups", chosen)
    assert code == 0, said
    assert committed(target, copied, chosen) == 60
    assert committed(target, copied, other) is None

    produce(target, topic, 10)  # what producers write to B is in a topic of B
    commit(target, copied, 90, chosen)
    commit(target, topic, 4, chosen)
    commit(target, copied, 70, other)
    with RunningFlow(flow, {topic: 1}, nothing), RunningFlow(back, {topic: 1}, nothing):
        code, said = mirror("failback", flow, "--groups", chosen, "--topics", topic)
    assert code == 0, said
    assert f"group {chosen}: ready" in said
    assert other not in said
    assert f"{source.name} can take over" in said
    assert committed(source, topic, chosen) == 90
    assert committed(source, returned, chosen) == 4
    assert committed(source, topic, other) == 60
    with barnabas.Admin(source.bootstrap_servers) as admin:
        assert admin.offsets(topic)[TopicPartition(topic, 0)] == 100, "nothing has come twice"
