"""Nodes with two listeners: each client gets the addresses of the one that it came in by."""

from contextlib import suppress
from pathlib import Path

import barnabas
from barnabas.embedded.ports import Ports
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.raw_client import RawClient
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

NODES = (1, 2, 3)
LEADER_NOT_AVAILABLE = ErrorCode.LEADER_NOT_AVAILABLE


def test_addresses_by_listener(tmp_path: Path) -> None:
    ports = Ports(len(NODES))
    clients = dict(zip(NODES, ports.numbers, strict=True))
    cluster = ClusterProcesses(tmp_path, len(NODES))
    for node in cluster.nodes.values():
        node.settings |= {
            "listeners": f"INTERNAL://{node.bootstrap},CLIENTS://127.0.0.1:{clients[node.node_id]}",
            "advertised.listeners": f"CLIENTS://localhost:{clients[node.node_id]}",
            "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CLIENTS:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
        }
    with cluster:
        inside = {node.node_id: ("127.0.0.1", node.port) for node in cluster.nodes.values()}
        outside = {node_id: ("localhost", port) for node_id, port in clients.items()}
        for addresses in (inside, outside):
            brokers, (node_id, *address) = told_by(addresses[2][1])
            assert brokers == addresses
            assert tuple(address) == addresses[node_id]
        with barnabas.Producer(f"localhost:{clients[1]}") as producer:
            producer.send("t", b"v").result()
        with barnabas.Consumer(cluster[3].bootstrap, "t") as consumer:
            assert next(iter(consumer)).value == b"v"
        without_listener(cluster, clients)
    ports.close()


def told_by(port: int) -> tuple[dict[int, tuple[str, int]], tuple[int, str, int]]:
    """The addresses of the nodes, and that of a coordinator."""
    answers = []

    def has_answered() -> bool:
        with RawClient("127.0.0.1", port) as client:
            try:
                told = client.ask(MetadataRequest(topics=[]), 9).brokers
                wanted = FindCoordinatorRequest(coordinator_keys=["g"])
                (found,) = client.ask(wanted, 4).coordinators
            except EOFError:  # a node that loses the controller sends its clients away
                return False
        brokers = {each.node_id: (each.host, each.port) for each in told}
        answers.append((brokers, (found.node_id, found.host, found.port)))
        return not found.error_code

    wait_until(has_answered, "there is no coordinator")
    return answers[-1]


def without_listener(cluster: ClusterProcesses, clients: dict[int, int]) -> None:
    """A node that lacks the listener of a client is no leader for it."""
    cluster.create_topic("led", partitions=3, replicas=3)
    third = cluster[3]
    third.settings |= {
        "listeners": f"INTERNAL://{third.bootstrap}",
        "advertised.listeners": f"INTERNAL://{third.bootstrap}",
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT",
    }
    third.restart()
    cluster.wait_until_formed()
    with barnabas.Admin(third.bootstrap) as admin:

        def leads() -> list[int]:
            led = admin.describe_topic("led").partitions
            return [each.partition for each in led if each.leader == 3]

        preferred = ElectLeadersRequest(0, [TopicPartitions("led", [0, 1, 2])], 10_000)

        def is_leader() -> bool:
            with suppress(OSError):
                third.ask(preferred)
            return bool(leads())

        wait_until(is_leader, "node 3 does not lead again")
        asked = MetadataRequest([MetadataRequestTopic(name="led")])
        for version, error in ((13, ErrorCode.LISTENER_NOT_FOUND), (5, LEADER_NOT_AVAILABLE)):
            with RawClient("127.0.0.1", clients[1]) as client:
                answer = client.ask(asked, version)
                assert {broker.node_id for broker in answer.brokers} == {1, 2}
                for partition in answer.topics[0].partitions:
                    is_led = partition.partition_index not in leads()
                    assert partition.error_code == (0 if is_led else error)
                    assert partition.leader_id in ((1, 2) if is_led else (-1,))
                    assert partition.offline_replicas == [3]
                    assert sorted(partition.replica_nodes) == [1, 2, 3]
        inside = third.ask(asked, 13).topics[0].partitions
        assert {each.leader_id for each in inside} == {1, 2, 3}
        assert not any(each.error_code or each.offline_replicas for each in inside)
