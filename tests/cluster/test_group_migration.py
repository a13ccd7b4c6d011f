"""Groups of librdkafka's members, which fail, and which change their protocol under load."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.coordination.coordinator_partition import partition_of
from barnabas.wire.messages.list_groups import ListGroupsRequest
from tests.cluster.conftest import SETTINGS
from tests.cluster.faults import killed
from tests.cluster.librdkafka_members import (
    MemberProcess,
    SteadyProducer,
    wait_for_shares,
    wait_until_all_read,
)
from tests.support.cluster import ClusterProcesses, NodeProcess

pytestmark = pytest.mark.timeout(600)

TOPIC, GROUP, PARTITIONS = "journal", "readers", 6

Join = Callable[..., MemberProcess]

QUICK = {
    **SETTINGS,
    # Shorter ones end on a busy machine, and librdkafka gives up for good if its group has gone
    # back to the classic protocol meanwhile.
    "group.consumer.session.timeout.ms": "15000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "15000",
    "group.consumer.min.heartbeat.interval.ms": "500",
}


@pytest.fixture
def cluster(tmp_path: Path, resources: contextlib.ExitStack) -> ClusterProcesses:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, QUICK))
    cluster.create_topic(TOPIC, PARTITIONS)
    return cluster


def coordinator(cluster: ClusterProcesses) -> NodeProcess:
    partitions = int(SETTINGS["offsets.topic.num.partitions"])
    return cluster.leader_of("__consumer_offsets", partition_of(GROUP, partitions))


@pytest.fixture
def producer(cluster: ClusterProcesses, resources: contextlib.ExitStack) -> SteadyProducer:
    return resources.enter_context(SteadyProducer(cluster.bootstrap, TOPIC, PARTITIONS))


@pytest.fixture
def join(cluster: ClusterProcesses, tmp_path: Path, resources: contextlib.ExitStack) -> Join:
    """Starts a member."""

    def start(name: str, protocol: str = "consumer") -> MemberProcess:
        path = tmp_path / f"member-{name}"
        member = MemberProcess(cluster.bootstrap, GROUP, TOPIC, protocol, path)
        return resources.enter_context(member)

    return start


def test_a_killed_coordinator_and_a_frozen_member(
    cluster: ClusterProcesses, producer: SteadyProducer, join: Join
) -> None:
    members = [join(name) for name in "abc"]
    wait_for_shares(members, [2, 2, 2])
    producer.wait_for_progress(members)

    with killed(cluster, coordinator(cluster)):
        producer.wait_for_progress(members)
    wait_for_shares(members, [2, 2, 2])

    frozen, *others = members
    frozen.freeze()
    wait_for_shares(others, [3, 3])
    producer.wait_for_progress(others)
    frozen.thaw()
    wait_for_shares(members, [2, 2, 2])

    members[1].leave()
    wait_for_shares([members[0], members[2]], [3, 3])
    producer.stop()
    wait_until_all_read(producer, members)


def group_type(cluster: ClusterProcesses) -> str:
    listed = coordinator(cluster).ask(ListGroupsRequest()).groups
    return next((group.group_type for group in listed if group.group_id == GROUP), "")


def test_a_group_is_upgraded_and_downgraded_under_load(
    cluster: ClusterProcesses, producer: SteadyProducer, join: Join
) -> None:
    """One member after the other is replaced, first by one of the newer protocol, then back."""
    old = [join("a", "classic"), join("b", "classic")]
    wait_for_shares(old, [3, 3])
    producer.wait_for_progress(old)
    assert group_type(cluster) == "Classic"

    first = join("c")
    wait_for_shares([*old, first], [2, 2, 2])
    assert group_type(cluster) == "Consumer"
    producer.wait_for_progress([first])
    old[0].leave()
    wait_for_shares([old[1], first], [3, 3])
    old[1].leave()
    wait_for_shares([first], [6])

    back = join("d", "classic")
    wait_for_shares([first, back], [3, 3])
    first.leave()
    wait_for_shares([back], [6])
    assert group_type(cluster) == "Classic"
    producer.wait_for_progress([back])
    producer.stop()
    wait_until_all_read(producer, [*old, first, back])
