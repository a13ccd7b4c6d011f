"""Fixtures: clusters on localhost or in a network of their own, with small disks or not."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.workload import IMPATIENT, Workload
from tests.conftest import ELSEWHERE
from tests.support.cluster import ClusterProcesses, SmallDisk
from tests.support.network import CLIENTS, Network, NetworkUnavailable
from tests.support.wait import wait_until

TOPIC = "journal"
SETTINGS = {
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "2000",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "3000",
}
SESSION_S = 2.0

Hurt = Callable[..., contextlib.AbstractContextManager[Workload]]


@pytest.fixture
def resources() -> Iterator[contextlib.ExitStack]:
    if ELSEWHERE:
        pytest.skip("needs a cluster of its own")
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def cluster(tmp_path: Path, resources: contextlib.ExitStack) -> ClusterProcesses:
    """Three nodes on localhost."""
    return resources.enter_context(ClusterProcesses(tmp_path, 3, SETTINGS))


@pytest.fixture
def network(resources: contextlib.ExitStack) -> Network:
    """Five hosts for nodes; this test runs on the host for clients."""
    try:
        network = resources.enter_context(Network(5))
    except NetworkUnavailable as reason:
        pytest.skip(f"no network namespaces here: {reason}")
    resources.enter_context(network.inside(CLIENTS))
    return network


@pytest.fixture
def networked(
    tmp_path: Path, network: Network, resources: contextlib.ExitStack
) -> ClusterProcesses:
    """Three nodes, each on a host of its own."""
    return resources.enter_context(ClusterProcesses(tmp_path, 3, SETTINGS, network))


@pytest.fixture
def disks(tmp_path: Path, resources: contextlib.ExitStack) -> dict[int, SmallDisk]:
    """Small disks under the three nodes of `cluster`, which must be asked for after this."""
    return mount_disks(ClusterProcesses(tmp_path, 3), resources)


def mount_disks(cluster: ClusterProcesses, resources: contextlib.ExitStack) -> dict[int, SmallDisk]:
    try:
        return {
            node_id: resources.enter_context(SmallDisk(node, megabytes=64))
            for node_id, node in cluster.nodes.items()
        }
    except PermissionError as reason:
        pytest.skip(str(reason))


@contextlib.contextmanager
def hurt(cluster: ClusterProcesses, partitions: int = 3, **options: object) -> Iterator[Workload]:
    """Clients at work on a topic of three replicas; at the end all is well and nothing was lost."""
    cluster.create_topic(TOPIC, partitions, 3)
    clients = {"clients": IMPATIENT} | options
    with Workload(cluster.bootstrap, TOPIC, partitions, **clients) as workload:  # type: ignore[arg-type]
        workload.wait_for_progress()
        yield workload
        workload.wait_for_progress()
        cluster.wait_until_whole()
        violations = workload.finish()
        print(workload.summary())
        assert violations == [], f"{len(violations)} violations in: {workload.summary()}"
        compare_replicas(cluster)


def compare_replicas(cluster: ClusterProcesses) -> None:
    """All replicas of a partition hold the same bytes, once all writes have ended."""

    def differing() -> dict[str, dict[int, int]]:
        found = {}
        for (topic, partition), state in cluster.partitions(TOPIC).items():
            logs = {
                i: b"".join(
                    path.read_bytes()
                    for path in sorted(cluster[i].data.glob(f"{topic}-{partition}/*.log"))
                )
                for i in state.replicas
            }
            if len(set(logs.values())) != 1:
                found[f"{topic}-{partition}"] = {i: len(log) for i, log in logs.items()}
        return found

    with contextlib.suppress(AssertionError):
        wait_until(lambda: not differing(), "replicas differ")
    assert differing() == {}, "replicas differ; sizes by node"
