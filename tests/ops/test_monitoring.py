"""A real Prometheus scrapes three nodes, answers the dashboard, and raises and clears alerts."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin, Producer, TopicPartition
from barnabas.embedded.ports import Ports
from barnabas.wire.errors import ErrorCode
from tests.broker.verbs import BY_NAME, asked, fetch_request
from tests.ops.monitoring import alert_rules, dashboard_queries
from tests.support.cluster import ClusterProcesses
from tests.support.machine import find_tool, missing
from tests.support.prometheus import Prometheus
from tests.support.wait import wait_until

_MAYBE_EMPTY = ("throttle_time", "throttletimems", "transaction_duration")
"""Of queries that have no answer while nothing is throttled, or no transaction has ended lately."""
_VARIABLES = {
    "$__rate_interval": "30s",
    "$job": "barnabas",
    "$instance": ".*",
    "$topic": ".*",
    "$group": ".*",
}
_SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "5000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "default.replication.factor": "3",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    if find_tool("prometheus") is None:
        pytest.skip(missing("prometheus"))
    ports = Ports(3)
    nodes = ClusterProcesses(tmp_path_factory.mktemp("nodes"), 3, _SETTINGS)
    for node, port in zip(nodes.nodes.values(), ports.numbers, strict=True):
        node.settings["metrics.listeners"] = f"127.0.0.1:{port}"
    with nodes:
        yield nodes
    ports.close()


@pytest.fixture(scope="module")
def prometheus(
    cluster: ClusterProcesses, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    program = find_tool("prometheus")
    assert program is not None
    targets = [node.settings["metrics.listeners"] for node in cluster.nodes.values()]
    directory = tmp_path_factory.mktemp("prometheus") / "here"
    with Prometheus(program, directory, targets, impatient_rules()) as server:
        yield server


def impatient_rules() -> dict[str, Any]:
    """The rules with short times, so that a test need not wait for minutes."""
    rules = [
        {**rule, "for": "1s", "expr": rule["expr"].replace("[5m]", "[15s]")}
        for rule in alert_rules()
    ]
    return {"groups": [{"name": "barnabas", "rules": rules}]}


def have_traffic(cluster: ClusterProcesses) -> None:
    """Records, a group that lags, a transaction and an error."""
    cluster.create_topic("watched", 3)
    with (
        Producer(cluster.bootstrap, transactional_id="watched") as producer,
        producer.transaction(),
    ):
        for _ in range(30):
            producer.send("watched", b"value")
    with Admin(cluster.bootstrap) as admin:
        admin.set_group_offsets("watchers", {TopicPartition("watched", 0): 0})
    leader = cluster.leader_of("watched")
    answer = leader.ask(fetch_request(asked("watched", {0: 999}), max_wait_ms=1), BY_NAME)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_prometheus_answers_every_query_of_the_dashboard(
    cluster: ClusterProcesses, prometheus: Prometheus
) -> None:
    have_traffic(cluster)
    wait_until(lambda: prometheus.query('sum(up{job="barnabas"}) == 3'), "not all are scraped")
    unanswered = {replaced(query) for query in dashboard_queries()}

    def all_answered() -> bool:
        for query in tuple(unanswered):
            if prometheus.query(query):
                unanswered.discard(query)
        return all(any(part in query for part in _MAYBE_EMPTY) for query in unanswered)

    wait_until(all_answered, lambda: f"no answer to {unanswered}")
    (lag,) = prometheus.query('kafka_consumergroup_lag{consumergroup="watchers"}')
    assert (lag["metric"]["topic"], lag["metric"]["partition"]) == ("watched", "0")


def replaced(query: str) -> str:
    for name, value in _VARIABLES.items():
        query = query.replace(name, value)
    return query


def test_prometheus_evaluates_every_alert(prometheus: Prometheus) -> None:
    def evaluated() -> bool:
        (group,) = prometheus.ask("rules")["groups"]
        assert not {
            rule["name"]: rule["lastError"] for rule in group["rules"] if rule.get("lastError")
        }
        return len(group["rules"]) == len(alert_rules()) and all(
            rule["health"] == "ok" for rule in group["rules"]
        )

    wait_until(evaluated, "not all rules are evaluated")


def test_alerts_fire_when_a_node_is_killed_and_clear_when_it_is_back(
    cluster: ClusterProcesses, prometheus: Prometheus
) -> None:
    cluster.create_topic("replicated", 3)
    expected = {"BarnabasNodeDown", "BarnabasUnderReplicated", "BarnabasNodeFenced"}
    wait_until(lambda: not expected & prometheus.firing(), "alerts fire in a healthy cluster")
    cluster[3].kill()
    wait_until(lambda: expected <= prometheus.firing(), lambda: f"only {prometheus.firing()} fire")
    cluster.start()
    wait_until(
        lambda: not expected & prometheus.firing(), lambda: f"{prometheus.firing()} still fire"
    )
