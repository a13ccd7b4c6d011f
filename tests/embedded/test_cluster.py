"""A cluster from its start to its end, as a tester sees it."""

import asyncio

import pytest
from confluent_kafka import Consumer, Producer

import barnabas
from barnabas.embedded.cluster import Cluster, ClusterError
from tests.support.wait import LIMIT_S, wait_until


def test_any_client_finds_it_where_it_says() -> None:
    with barnabas.Cluster() as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        producer.produce("greetings", b"hello")
        assert producer.flush(LIMIT_S) == 0
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": "g",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["greetings"])
        message = consumer.poll(60)
        assert message is not None
        assert message.value() == b"hello"
        consumer.close()


@pytest.mark.barnabas(nodes=3, partitions=6)
def test_three_nodes_share_what_there_is_to_do(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    assert barnabas_cluster.nodes == barnabas_cluster.running == (1, 2, 3)
    addresses = barnabas_cluster.bootstrap_servers.split(",")
    assert addresses == [barnabas_cluster.address_of(node) for node in barnabas_cluster.nodes]
    states = barnabas_cluster.partitions_of(barnabas_topic)
    assert list(states) == list(range(6))
    assert {state.leader for state in states.values()} == {1, 2, 3}
    assert all(sorted(state.replicas) == [1, 2, 3] for state in states.values())
    assert barnabas_cluster.leader_of(barnabas_topic, 4) == states[4].leader
    assert barnabas_cluster.controller() in barnabas_cluster.nodes


def test_settings_hold_for_every_node_and_topic() -> None:
    settings = {"num.partitions": 5, "auto.create.topics.enable": False}
    with barnabas.Cluster(settings=settings) as cluster:
        cluster.create_topic("by-default", -1)
        cluster.create_topic("own", 2, configs={"retention.ms": 1000})
        assert len(cluster.partitions_of("by-default")) == 5
        assert len(cluster.partitions_of("own")) == 2


async def _run_in_asyncio() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    async with barnabas.Cluster() as cluster:
        assert ticks > 2, "the event loop stood still"
        _, writer = await asyncio.open_connection(*cluster.bootstrap_servers.split(":"))
        writer.close()
        await asyncio.to_thread(cluster.restart, 1)
    ticking.cancel()
    assert not cluster.is_started


def test_it_leaves_an_event_loop_free() -> None:
    asyncio.run(_run_in_asyncio())


def test_a_second_cluster_while_there_is_a_first(barnabas_cluster: Cluster) -> None:
    with barnabas.Cluster() as second:
        assert second.bootstrap_servers != barnabas_cluster.bootstrap_servers
        assert second.pid_of(1) != barnabas_cluster.pid_of(1)
    assert barnabas_cluster.running == (1,)


def test_its_log_can_be_read(barnabas_cluster: Cluster) -> None:
    wait_until(lambda: "is ready on" in barnabas_cluster.log_of(1), "node 1 said nothing")


# -- what goes wrong -----------------------------------------------------------------------------


def test_a_setting_that_does_not_exist() -> None:
    cluster = barnabas.Cluster(settings={"num.partitoins": 3})
    with pytest.raises(ClusterError, match=r"num\.partitoins.*did you mean 'num\.partitions'"):
        cluster.start()
    assert not cluster.is_started


def test_a_setting_that_is_not_the_testers() -> None:
    with pytest.raises(ValueError, match="log\\.dirs cannot be set"):
        barnabas.Cluster(settings={"log.dirs": "here"})


def test_no_nodes() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        barnabas.Cluster(0)


def test_a_cluster_that_was_not_started() -> None:
    cluster = barnabas.Cluster()
    assert repr(cluster) == "<Cluster of 1, not running>"
    with pytest.raises(ClusterError, match="use it in a `with`"):
        _ = cluster.bootstrap_servers
    cluster.close()


def test_a_cluster_that_runs_already(barnabas_cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="already running"):
        barnabas_cluster.start()


def test_a_node_that_there_is_not(barnabas_cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="there is no node 2"):
        barnabas_cluster.kill(2)


def test_a_topic_that_can_not_be(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    with pytest.raises(ClusterError, match="exists"):
        barnabas_cluster.create_topic(barnabas_topic)
    with pytest.raises(ValueError, match="replication_factor=3: the cluster has 1 node"):
        barnabas_cluster.create_topic("too-many", replication_factor=3)
    with pytest.raises(ClusterError, match=r"'a/b' was not created: .*name"):
        barnabas_cluster.create_topic("a/b")


def test_a_leader_that_there_is_not(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    with pytest.raises(ClusterError, match="topic 'nothing' does not exist"):
        barnabas_cluster.leader_of("nothing", timeout_s=0.1)
    with pytest.raises(ClusterError, match="has no partition 7; it has 0 to 0"):
        barnabas_cluster.leader_of(barnabas_topic, 7, timeout_s=0.1)
