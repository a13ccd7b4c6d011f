"""A live cluster is upgraded from the release before, node by node, back and forth, under load."""

from pathlib import Path

import pytest

from barnabas.metadata.features import METADATA_VERSION, SUPPORTED
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.cli.conftest import Cli
from tests.cluster.conftest import hurt
from tests.cluster.workload import DEFAULTS
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.earlier_release import install_earlier_release
from tests.support.wait import wait_until

FIRST, NEWEST = SUPPORTED[METADATA_VERSION]


def level(node: NodeProcess) -> int:
    answer = node.ask(ApiVersionsRequest("test", "1"))
    return {each.name: each.max_version_level for each in answer.finalized_features}.get(
        METADATA_VERSION, FIRST
    )


def raise_level(node: NodeProcess) -> int:
    update = FeatureUpdateKey(METADATA_VERSION, NEWEST)
    answer = node.ask(UpdateFeaturesRequest(feature_updates=[update]))
    return int(answer.error_code)


@pytest.mark.long
def test_a_cluster_is_upgraded_under_load(tmp_path: Path) -> None:
    earlier = ["env", f"PYTHONPATH={install_earlier_release(tmp_path / 'release')}"]
    cluster = ClusterProcesses(tmp_path / "cluster")
    for node in cluster.nodes.values():
        node.prefix = earlier

    def replace(node_id: int, prefix: list[str]) -> None:
        node = cluster[node_id]
        node.stop()
        node.prefix = prefix
        node.start()
        cluster.wait_until_whole()

    with cluster, hurt(cluster, clients=DEFAULTS) as workload:
        replace(1, [])
        workload.wait_for_progress()
        replace(2, [])
        assert raise_level(cluster[1]) == ErrorCode.INVALID_UPDATE_VERSION
        replace(1, earlier)  # back
        workload.wait_for_progress()
        for node_id in (1, 3):
            replace(node_id, [])
        assert {level(node) for node in cluster.nodes.values()} == {FIRST}
        replace(2, earlier)  # all were new, and the level is not raised: one may still go back
        workload.wait_for_progress()
        assert raise_level(cluster[1]) == ErrorCode.INVALID_UPDATE_VERSION
        replace(2, [])
        cli = Cli(cluster.bootstrap)
        plan = cli.json("cluster", "upgrade", "--plan")
        assert (plan["before"], plan["level"], plan["wanted"]) == (FIRST, FIRST, NEWEST)
        assert cli.json("cluster", "upgrade", "--yes")["level"] == NEWEST
        for node in cluster.nodes.values():
            wait_until(lambda node=node: level(node) == NEWEST)  # type: ignore[misc]
        workload.wait_for_progress()
        _goes_back_too_late(cluster, earlier)
        for node in cluster.nodes.values():  # what the new release wrote, it reads
            node.restart()
            cluster.wait_until_whole()
        assert workload.history.failed == []
        assert workload.history.client_errors == []


def _goes_back_too_late(cluster: ClusterProcesses, earlier: list[str]) -> None:
    node = cluster[3]
    node.stop()
    node.prefix = earlier
    before = node.log.stat().st_size
    node.launch()

    def is_refused() -> bool:
        """At a record that it can't read, or at its registration before that."""
        said = node.log.read_bytes()[before:]
        return b"written by a newer release" in said or b"UNSUPPORTED_VERSION" in said

    wait_until(is_refused)
    node.kill()
    node.prefix = []
    node.start()
    cluster.wait_until_whole()
