"""Why a doctor has no metrics of a node, and what makes them reachable."""

import pytest

from barnabas.diagnosis.collect.nodes import why_no_metrics
from barnabas.diagnosis.facts import NodeFacts
from barnabas.diagnosis.node_metrics import scrape_address, why_unreachable
from barnabas.wire.endpoint import Address

FIX = "set metrics.listeners=0.0.0.0:9404"


@pytest.mark.parametrize(
    ("host", "setting", "why"),
    [
        ("h1", None, "metrics are served to the node's own machine only; " + FIX),
        ("localhost", None, "http://127.0.0.1:19092/metrics does not answer; if the node runs"),
        ("h1", "127.0.0.1:9404", "metrics are served to the node's own machine only; " + FIX),
        ("h1", "", "metrics are turned off; " + FIX),
        ("h1", "0.0.0.0:0", "metrics.listeners=0.0.0.0:0 has no fixed port; " + FIX),
        ("h1", "0.0.0.0:9404", "http://h1:9404/metrics does not answer; open that port"),
        ("h1", "10.0.0.7:9404", "http://10.0.0.7:9404/metrics does not answer; open that port"),
    ],
)
def test_the_reason_names_the_setting(host: str, setting: str | None, why: str) -> None:
    where = scrape_address(Address(host, 9092), setting)
    assert why_unreachable(setting, where).startswith(why)


def test_nodes_with_the_same_reason_share_it() -> None:
    nodes = [
        NodeFacts(1, no_metrics="off"),
        NodeFacts(2),
        NodeFacts(3, no_metrics="off"),
        NodeFacts(4, no_metrics="closed"),
    ]
    assert why_no_metrics(nodes) == "nodes 1, 3: off; node 4: closed"
    assert why_no_metrics(nodes[1:2]) is None
