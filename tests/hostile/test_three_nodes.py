"""The largest requests to a cluster of three: what one node forwards to the controller, or asks of
the others, keeps no client of any node waiting."""

from collections.abc import Iterator

import pytest

from tests.broker.raw_client import RawClient
from tests.hostile.largest_fields import frame, of_many_elements
from tests.hostile.largest_requests import check
from tests.hostile.measured_broker import MeasuredCluster, MeasuredMember

_CASES = list(of_many_elements())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredCluster]:
    settings = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"}
    with MeasuredCluster(tmp_path_factory.mktemp("three"), settings=settings) as cluster:
        cluster.create_topic("t")
        yield cluster
        for node in cluster.nodes.values():
            assert "Traceback" not in node.log.read_text(), node.log_tail()


@pytest.mark.parametrize("api", sorted({case.api for case in _CASES}))
def test_no_node_keeps_its_clients_waiting(cluster: MeasuredCluster, api: str) -> None:
    controller = cluster.controller()
    asked, *_ = (node for node in cluster.nodes.values() if node is not controller)
    nodes = [node for node in cluster.nodes.values() if isinstance(node, MeasuredMember)]
    for case in _CASES:
        if case.api == api:
            check(str(case), nodes, frame(case), lambda: RawClient(asked.host, asked.port))
