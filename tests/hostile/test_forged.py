"""An ordinary client sends what only nodes may send: nothing happens.

No leader is deposed, nothing is acknowledged that no replica has, nothing that was acknowledged is
lost, no transaction is ended by another client, and clients are served meanwhile.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.broker.net.peer_proof import MECHANISM
from barnabas.broker.routes import routes
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import UnsupportedFieldError
from tests.broker.raw_client import RawClient, batch
from tests.hostile.forgeries import FORGERIES, METADATA, World, replica_fetch
from tests.hostile.onlooker import MB, Onlooker
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.peer import prover_of
from tests.support.wait import LIMIT_S, wait_until

TOPIC = "orders"
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.leader.rebalance.enable": "false",
}
_ATTEMPTS = 5
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"], scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterProcesses]:
    directory = tmp_path_factory.mktemp("forged")
    with ClusterProcesses(directory, request.param, SETTINGS) as cluster:
        in_sync = "2" if request.param == 3 else "1"
        cluster.create_topic(TOPIC, 1, request.param, min_insync_replicas=in_sync)
        yield cluster
        for node in cluster.nodes.values():
            assert node.alive
            node.stop()
            assert "Traceback" not in node.log.read_text(), node.log_tail()


def quorum_of(cluster: ClusterProcesses) -> Any:
    """As its leader sees it."""
    question = DescribeQuorumRequest([TopicData(METADATA, [PartitionData(0)])])
    return cluster.controller().ask(question).topics[0].partitions[0]


def look(cluster: ClusterProcesses, producer: tuple[int, int] = (0, 0)) -> World:
    quorum = quorum_of(cluster)
    (topic,) = cluster.ask_any(MetadataRequest([MetadataRequestTopic(name=TOPIC)])).topics
    state = cluster.partitions(TOPIC)[TOPIC, 0]
    return World(
        cluster_id=cluster.ask_any(DescribeClusterRequest()).cluster_id,
        epoch=quorum.leader_epoch,
        leader_id=quorum.leader_id,
        voters={v.replica_id: v.replica_directory_id for v in quorum.current_voters},
        topic=TOPIC,
        topic_id=topic.topic_id,
        partition_leader=state.leader,
        partition_epoch=state.leader_epoch,
        end_offset=10,
        producer_id=producer[0],
        producer_epoch=producer[1],
        transactional_id="tx",
    )


def codes_of(answer: Any) -> Iterator[int]:
    """Every error code in an answer, wherever it stands."""
    if isinstance(answer, list):
        for each in answer:
            yield from codes_of(each)
    elif hasattr(answer, "__slots__"):
        for name in answer.__slots__:
            value = getattr(answer, name)
            if name.endswith("error_code"):
                yield value
            else:
                yield from codes_of(value)


def forge(node: NodeProcess, request: Request[Any], client: RawClient) -> int:
    """Send it in every version that can carry it; returns in how many."""
    sent = 0
    for version in range(request.MIN_VERSION, request.MAX_VERSION + 1):
        try:
            client.frame(request, version)
        except UnsupportedFieldError:
            continue
        finally:
            client._asked.clear()
        answer = client.ask(request, version)
        codes = set(codes_of(answer))
        assert codes - {0}, (request, version, answer)
        worst = codes - {0, REFUSED}
        assert not worst or type(request).__name__ == "WriteTxnMarkersRequest", (request, codes)
        sent += 1
    return sent


def leaders(world: World) -> tuple[int, int, int, int]:
    """The leaders of the metadata and of the topic, each with its epoch."""
    return world.epoch, world.leader_id, world.partition_leader, world.partition_epoch


def forge_everywhere(cluster: ClusterProcesses, kind: type[Request[Any]]) -> tuple[World, World]:
    """What was there before, and after each node got all forgeries."""
    before = look(cluster)
    sent = 0
    for node in cluster.nodes.values():
        with Onlooker(node) as onlooker, RawClient(node.host, node.port) as client:
            for request in FORGERIES[kind](before):
                sent += forge(node, request, client)
        assert onlooker.grown < 30 * MB
        assert onlooker.longest_wait_s < 1.0
    assert sent
    return before, look(cluster)


def test_no_api_of_nodes_is_forgotten() -> None:
    """A new one that only nodes may send needs forgeries too."""
    assert FORGERIES.keys() == {
        route.request_type for route in routes() if route.peers_only is not None
    }


@pytest.mark.parametrize("kind", FORGERIES, ids=lambda kind: kind.__name__)
def test_what_is_forged_changes_nothing(
    cluster: ClusterProcesses, kind: type[Request[Any]]
) -> None:
    with barnabas.Producer(cluster.bootstrap, client_id="honest") as producer:
        for number in range(10):
            producer.send(TOPIC, b"%d" % number)
        producer.flush()
        worlds = [forge_everywhere(cluster, kind)]
        # Nodes that a busy machine does not let run elect other leaders, but not each time.
        while leaders(worlds[-1][1]) != leaders(worlds[-1][0]) and len(worlds) < _ATTEMPTS:
            worlds.append(forge_everywhere(cluster, kind))
        before, after = worlds[-1]
        assert leaders(after) == leaders(before)
        assert all(after.voters == before.voters for before, after in worlds)
        cluster.wait_until_in_sync()
        assert producer.send(TOPIC, b"after").result(LIMIT_S) is not None
    assert all(node.alive for node in cluster.nodes.values())


def open_transaction(cluster: ClusterProcesses) -> tuple[int, int]:
    """Who has one open in the topic."""
    leader = cluster.leader_of(TOPIC)

    def found() -> tuple[int, int] | None:
        answer = leader.ask(DescribeProducersRequest([TopicRequest(TOPIC, [0])]))
        for each in answer.topics[0].partitions[0].active_producers:
            if each.current_txn_start_offset >= 0:
                return each.producer_id, each.producer_epoch
        return None

    wait_until(found, "no transaction is open")
    producer = found()
    assert producer is not None
    return producer


def committed(cluster: ClusterProcesses, prefix: bytes, until: bytes) -> list[bytes]:
    """What readers of committed records see of these, from the beginning to a certain one."""
    values: list[bytes] = []
    with barnabas.Consumer(cluster.bootstrap, TOPIC) as consumer:
        wait_until(
            lambda: values.extend(m.value for m in consumer.poll(0.5)) or until in values,
            f"{until!r} does not come",
        )
    return [value for value in values if value.startswith(prefix)]


def test_a_other_ends_no_transaction(cluster: ClusterProcesses) -> None:
    markers = next(kind for kind in FORGERIES if kind.__name__ == "WriteTxnMarkersRequest")
    name = b"tx-%d-" % time.monotonic_ns()
    with barnabas.Producer(cluster.bootstrap, transactional_id="tx") as producer:
        with producer.transaction() as transaction:
            producer.send(TOPIC, name + b"rolled back").result(LIMIT_S)
            world = look(cluster, open_transaction(cluster))
            for node in cluster.nodes.values():
                with RawClient(node.host, node.port) as client:
                    for request in FORGERIES[markers](world):
                        forge(node, request, client)
            assert open_transaction(cluster) == (world.producer_id, world.producer_epoch)
            transaction.roll_back()
        with producer.transaction():
            producer.send(TOPIC, name + b"kept").result(LIMIT_S)
            world = look(cluster, open_transaction(cluster))
            with RawClient(*address(cluster.leader_of(TOPIC))) as client:
                for request in FORGERIES[markers](world):
                    forge(cluster.leader_of(TOPIC), request, client)
    assert committed(cluster, name, name + b"kept") == [name + b"kept"]


def address(node: NodeProcess) -> tuple[str, int]:
    return node.host, node.port


def test_no_other_acknowledges_for_a_replica(cluster: ClusterProcesses) -> None:
    """And where the leader is the only one, no other appears."""
    cluster.wait_until_in_sync()
    world = look(cluster)
    leader = cluster.nodes[world.partition_leader]
    followers = [node for node in cluster.nodes.values() if node is not leader]
    pretended = [node.node_id for node in followers] or [leader.node_id, leader.node_id + 1]
    with leader.connect(30) as producer, leader.connect(30) as other:
        data = PartitionProduceData(0, batch(b"not replicated"))
        topic = TopicProduceData("", world.topic_id, [data])
        for node in followers:
            node.freeze()
        try:
            producer.send(ProduceRequest(None, -1, 1_000, [topic]))
            until = time.monotonic() + 0.8
            while time.monotonic() < until:
                for node_id in pretended:
                    for broker_epoch in range(12):
                        request = replica_fetch(world, node_id, 10**6, broker_epoch)
                        assert other.ask(request).error_code == REFUSED
            answer = producer.receive().responses[0].partition_responses[0]
        finally:
            for node in followers:
                node.thaw()
    assert answer.error_code == (ErrorCode.REQUEST_TIMED_OUT if followers else ErrorCode.NONE)
    cluster.wait_until_whole()
    assert set(cluster.partitions(TOPIC)[TOPIC, 0].isr) == cluster.nodes.keys()


def test_a_other_can_not_prove_anything(cluster: ClusterProcesses) -> None:
    """Neither with the wrong secret nor with nonsense; and it costs others nothing."""
    for node in cluster.nodes.values():
        with Onlooker(node) as onlooker:
            for secret in (b"a wrong secret of some length", look(cluster).cluster_id.encode()):
                for guess in (None, bytes(32), b"", b"x" * 9999):
                    with RawClient(*address(node)) as client:
                        prover = prover_of(node, 9, secret)
                        assert client.ask(SaslHandshakeRequest(MECHANISM)).error_code == 0
                        challenge = client.ask(SaslAuthenticateRequest(prover.hello))
                        assert challenge.error_code == 0, "it tells nothing about the secret"
                        right = prover.answer(bytes(challenge.auth_bytes))
                        proof = right if guess is None else guess
                        refused = client.ask(SaslAuthenticateRequest(proof))
                        assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
                        with pytest.raises((EOFError, ConnectionError)):  # no second guess
                            client.ask(SaslAuthenticateRequest(proof))
            with RawClient(*address(node)) as client:
                for number in range(300):
                    nonsense = SaslAuthenticateRequest(bytes([number % 256]) * number)
                    answer = client.ask(nonsense)
                    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert onlooker.longest_wait_s < 1.0
        assert onlooker.grown < 30 * MB


def test_a_voter_is_removed_only_under_its_right_name(cluster: ClusterProcesses) -> None:
    """An operator may; an open cluster knows none from another. But none by a guess, no last one,
    and none without which the others could not elect anybody."""
    cluster.wait_until_whole()
    before = look(cluster)
    for node in cluster.nodes.values():
        for node_id in (*before.voters, 9):
            request = RemoveRaftVoterRequest(before.cluster_id, node_id, b"guess" + bytes(11))
            assert node.ask(request).error_code == ErrorCode.VOTER_NOT_FOUND
        other = AddRaftVoterRequest(before.cluster_id, 200, 9, b"d" * 16, [])
        refused = node.ask(other).error_code
        assert refused in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if len(cluster.nodes) == 1:
        last = RemoveRaftVoterRequest(before.cluster_id, 1, before.voters[1])
        assert cluster[1].ask(last).error_code == ErrorCode.INVALID_REQUEST
    else:
        leader = cluster.controller()
        frozen, other = (node for node in cluster.nodes.values() if node is not leader)
        frozen.freeze()
        try:
            time.sleep(3)  # until the leader takes it for gone
            with leader.connect(30) as client:
                request = RemoveRaftVoterRequest(
                    before.cluster_id, other.node_id, before.voters[other.node_id]
                )
                assert client.ask(request).error_code == ErrorCode.INVALID_REQUEST
        finally:
            frozen.thaw()
        cluster.wait_until_whole()
    assert look(cluster).voters == before.voters


@pytest.mark.long
def test_an_epoch_that_was_forged_before_is_left_behind(tmp_path: Path) -> None:
    """What an older release has written down of an absurd epoch does not stop a node."""
    with ClusterProcesses(tmp_path, 3, SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1, 3)
        with barnabas.Producer(cluster.bootstrap) as producer:
            producer.send(TOPIC, b"kept").result(LIMIT_S)
        cluster.stop()
        for node in cluster.nodes.values():
            path = node.data / "__cluster_metadata-0" / "quorum-state"
            state = json.loads(path.read_text())
            del state["crc"]  # which that release did not write
            path.write_text(json.dumps(state | {"leaderEpoch": 2**31 - 1, "votedId": -1}))
        cluster.start()
        assert "no elections can have reached" in cluster[1].log.read_text()
        assert committed(cluster, b"", b"kept") == [b"kept"]
        assert 1000 <= quorum_of(cluster).leader_epoch < 2000
