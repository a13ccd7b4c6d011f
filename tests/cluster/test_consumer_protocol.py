"""Groups of the consumer protocol (KIP-848) whose coordinator and members are hurt under load.

Members are processes of their own that use our client. Every record is read at least once, no
partition has two owners of the same epoch, and partitions that do not move go on being read.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.cluster.conftest import SETTINGS
from tests.cluster.members import Members, Writing
from tests.conftest import ELSEWHERE
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import wait_until

PARTITIONS = 6
SESSION_S = 10.0
"""A busy machine keeps no member from its heartbeats for so long."""
GROUP_SETTINGS = {
    **SETTINGS,
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(int(SESSION_S * 1000)),
}


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    """Three nodes whose groups notice soon that a member is gone."""
    if ELSEWHERE:
        pytest.skip("needs a cluster of its own")
    directory: Path = tmp_path_factory.mktemp("groups")
    with ClusterProcesses(directory, 3, GROUP_SETTINGS) as cluster:
        yield cluster


@contextmanager
def at_work(cluster: ClusterProcesses, name: str, members: int = 3) -> Iterator[Members]:
    """Members that read what is written all the time; at the end all of it was read."""
    cluster.create_topic(name, PARTITIONS, 3)
    with (
        Members(cluster.bootstrap, name, name) as group,
        Writing(cluster.bootstrap, name, PARTITIONS) as writing,
    ):
        for _ in range(members):
            group.start()
        wait_until(lambda: group.share(PARTITIONS), "the members do not share")
        yield group
        wait_until(lambda: group.share(PARTITIONS), "the members do not share any more")
        writing.stop()
        wait_until(lambda: not writing.acked - group.numbers, "records were not read")
        for each in group.running:
            each.leave()
        group.check_owners()


def coordinator_of(cluster: ClusterProcesses, group: str) -> NodeProcess:
    response = cluster.ask_any(FindCoordinatorRequest(coordinator_keys=[group]))
    return cluster[response.coordinators[0].node_id]


def test_members_that_come_and_go_stop_only_what_moves(groups: ClusterProcesses) -> None:
    with at_work(groups, "come-and-go") as group:
        before = {each.name: set(each.partitions) for each in group.running}
        began = time.monotonic()
        group.start()
        wait_until(lambda: group.share(PARTITIONS) and len(group.running) == 4)
        stayed = {
            partition
            for each in group.running
            for partition in each.partitions & before.get(each.name, set())
        }
        assert len(stayed) >= PARTITIONS - 2
        assert not stayed & group.given_up(began), "they were taken from their readers for a while"
        assert all("lost" not in each.events for each in group.all)
        group.running[0].leave()
        wait_until(lambda: group.share(PARTITIONS), "the others do not take over")


def test_the_coordinator_is_killed(groups: ClusterProcesses) -> None:
    with at_work(groups, "coordinator") as group:
        events = [list(each.events) for each in group.all]
        node = coordinator_of(groups, "coordinator")
        node.kill()
        wait_until(lambda: coordinator_of(groups, "coordinator") is not node)
        group.start()
        wait_until(lambda: group.share(PARTITIONS), "the new coordinator does not assign")
        assert all("lost" not in each.events for each in group.all), events
        node.start()
        groups.wait_until_whole()


def test_a_member_that_dies_and_one_that_sleeps_are_replaced(groups: ClusterProcesses) -> None:
    with at_work(groups, "die-and-sleep") as group:
        first, second, third = group.running
        first.kill()
        wait_until(lambda: group.share(PARTITIONS), "nobody takes over")
        with second.frozen():
            wait_until(lambda: third.partitions == set(range(PARTITIONS)), "nobody takes over")
        wait_until(lambda: "lost" in second.events, "it does not hear that it was fenced")
        wait_until(lambda: group.share(PARTITIONS), "it does not join again")


def test_a_static_member_returns_without_a_rebalance(groups: ClusterProcesses) -> None:
    with at_work(groups, "static", members=2) as group:
        static = group.start("instance-1")
        wait_until(lambda: group.share(PARTITIONS))
        had = set(static.partitions)
        others = [list(each.events) for each in group.running if each is not static]
        again = group.prepare("instance-1")
        static.leave()
        again.go()
        wait_until(lambda: again.partitions == had, "it does not get its partitions back")
        assert [list(each.events) for each in group.running if each is not again] == others
