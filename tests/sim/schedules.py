"""Faults at chosen moments, for rules that chance hardly ever gets to.

Each schedule keeps within the guarantee: with the product as it is, nothing is violated.
"""

from collections.abc import Callable

from barnabas.broker.coordinator.transaction_verification import LANE
from barnabas.broker.share.state_calls import LANE as SHARE_LANE
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.transaction_history import Transaction, TransactionHistory
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine
from barnabas.sim.network.stream import Stream
from barnabas.sim.workloads.administrator import Administrator
from barnabas.sim.workloads.deletion_workload import Deleter
from barnabas.sim.workloads.producer import Producer
from barnabas.sim.workloads.share_workload import ShareWorkload
from barnabas.sim.workloads.transactional_producer import TransactionalId, TransactionalProducer
from tests.sim.calm_cluster import LONG_US, SESSION_US, running

PLACE = Place("t", 0)
PRODUCER = "tx.1"


def return_unheard(seed: int) -> None:
    """A machine loses power and what it had not synced. When it returns, it is no longer in sync,
    and the leader, which has nothing new meanwhile, gets none of its fetches.

    All that the leader knows of this follower is from its earlier life.
    """
    with running(seed) as (cluster, controller):
        simulator = cluster.simulator
        _write(cluster, 5)
        leader = _leader(cluster)
        follower = next(
            each for each in cluster.machines.values() if each not in (leader, controller)
        )
        if leader is controller:  # then it would have to hear from the other
            return
        cluster.watch.guarantee.loses(follower.node_id)
        follower.lose_power()
        simulator.run_until_true(
            lambda: follower.node_id not in _isr(leader), LONG_US, "it is no longer in sync"
        )
        cluster.network.cut({(follower.host, leader.host), (leader.host, follower.host)})
        follower.power_up()
        follower.start()
        simulator.run_until(simulator.now_us + 5_000_000)
        cluster.network.heal()
        simulator.run_until_true(cluster.is_whole, LONG_US, "every replica is in sync")


def return_with_deleted_records(seed: int) -> None:
    """A client deletes records while a follower is down that has them, and nothing is written.

    When it returns, it is at the end of the log with its first fetch. It can be in sync before it
    learns where the log starts now, because what the leader sends to it is slow.
    """
    with running(seed) as (cluster, controller):
        simulator, slow = cluster.simulator, cluster.network.links.slow
        cluster.watch.deleted.topics.add(PLACE.topic)
        _write(cluster, 5)
        leader = _leader(cluster)
        follower = next(
            each for each in cluster.machines.values() if each not in (leader, controller)
        )
        if leader is controller:  # then all that the follower learns is late
            return
        follower.kill()
        simulator.run_until_true(
            lambda: follower.node_id not in _isr(leader), LONG_US, "it is no longer in sync"
        )
        _delete(cluster, 3)
        slow[leader.host, follower.host] = (300_000, 300_000)
        follower.start()
        simulator.run_until(simulator.now_us + 3_000_000)
        slow.clear()
        simulator.run_until_true(cluster.is_whole, LONG_US, "every replica is in sync")


def answer_behind_the_marker(seed: int) -> None:
    """A producer of the older generation aborts a transaction while its first batch is under way
    to a partition. The leader there has asked the coordinator whether the transaction is open, and
    gets the answer, that it is, only after the marker that ends it.
    """
    _abort_meanwhile(seed, _hold_answers)


def batch_behind_the_marker(seed: int) -> None:
    """The same, but the batch itself arrives at the leader only after the marker.

    It has the epoch and the sequence number that come next there. Only the coordinator knows that
    its transaction is over.
    """
    _abort_meanwhile(seed, _hold_batches)


Hold = Callable[[Cluster, Client, Machine, str], None]
"""Delays something, given the leader of the partition and the host of the coordinator."""


def _abort_meanwhile(seed: int, hold: Hold) -> None:
    """Send a batch of a transaction, abort the transaction while something is held back, and
    check afterwards that no transaction is left open in the partition."""
    with running(seed) as (cluster, _):
        simulator = cluster.simulator
        _write(cluster, 1)
        client = cluster.client("transactions")
        id_ = TransactionalId("tx", TransactionHistory(cluster.history, [PLACE]))
        producer = TransactionalProducer(client, id_, PRODUCER, is_newer=False, timeout_ms=60_000)
        leader = _leader(cluster)

        def begun(number: int) -> Transaction:
            transaction = Transaction(f"tx.{number}", "", simulator.now_us)
            value = b"tx:%d" % number
            transaction.values[PLACE].append(value)
            cluster.history.sending(PLACE, value)
            return transaction

        async def work() -> None:
            await producer.init()
            await producer.begin(begun(1))
            await producer.write()  # the leader has a connection to the coordinator now
            await producer.end(committed=True)
            await producer.begin(begun(2))
            coordinator = await client.coordinator("tx", of_transactions=True)
            await producer.write_and_leave()
            hold(cluster, client, leader, coordinator)
            await client.pause(30, 50)  # the batch is under way
            del client._connections[leader.host, PRODUCER]  # the end may overtake it
            await producer.end(committed=False)

        client.run(work())
        simulator.run_until(simulator.now_us + 3_000_000)
        assert client.is_done
        for machine, partition in cluster.led_partitions():
            stable, end = partition.last_stable_offset, partition.high_watermark
            if stable < end:
                raise Violation(
                    f"{partition.name}: a transaction that has ended is open at {stable} on "
                    f"node {machine.node_id}, which ends at {end}"
                )


def _hold_answers(cluster: Cluster, _: Client, leader: Machine, coordinator: str) -> None:
    """What the coordinator answers to the leader about transactions arrives late."""
    if coordinator == leader.host:  # then there is no answer that could be late
        return
    node_id = next(each.node_id for each in cluster.machines.values() if each.host == coordinator)
    _delay(_stream(leader, node_id, LANE).peer)


def _stream(machine: Machine, node_id: int, lane: str) -> Stream:
    """What a node sends to another one."""
    assert machine.server is not None
    connection = machine.server.node.peers._lanes[node_id, lane].connection
    assert connection is not None
    stream = connection._transport
    assert isinstance(stream, Stream)
    return stream


def _hold_batches(_: Cluster, client: Client, leader: Machine, _coordinator: str) -> None:
    """What the producer sends to the leader from now on, over this connection, arrives late."""
    stream = client._connections[leader.host, PRODUCER]._transport
    assert isinstance(stream, Stream)
    _delay(stream)


def _delay(stream: Stream, delay_us: int = 500_000) -> None:
    stream._late_until_us = stream._links.simulator.now_us + delay_us


def write_of_a_former_leader(seed: int) -> None:
    """The leader of a partition loses contact with the controller, and its last writes to the share
    coordinator arrive only after another leader has read the state and delivered records.

    Had they been stored, members would be told that records are done with that the new leader
    delivers again.
    """
    with running(seed) as (cluster, controller):
        simulator = cluster.simulator
        _write(cluster, 30)
        workload = ShareWorkload(cluster, [PLACE])
        workload.begin()
        simulator.run_until_true(
            lambda: workload.deliveries.accepted > 0, LONG_US, "a record is accepted"
        )
        leader = _leader(cluster)
        assert leader.server is not None
        coordinators = [
            node_id for node_id, lane in leader.server.node.peers._lanes if lane == SHARE_LANE
        ]
        if {leader.node_id, *coordinators} & {controller.node_id} or not coordinators:
            return  # it has to lose the one and reach the other
        cut = cluster.network.cut({(leader.host, controller.host), (controller.host, leader.host)})
        _delay(_stream(leader, coordinators[0], SHARE_LANE), 2 * SESSION_US)
        simulator.run_until(simulator.now_us + 2_000_000)
        cluster.network.heal(cut)
        simulator.run_until(simulator.now_us + 2_000_000)
        for client in cluster.clients:
            client.is_stopping = True
        workload.judge()


def lose_the_only_one_in_sync(seed: int) -> None:
    """Of two replicas, both of which an acknowledgement waits for, one is down, and the other loses
    power. The first one has everything, whatever in-sync set the cluster believes in.
    """
    with running(seed) as (cluster, _):
        simulator, guarantee = cluster.simulator, cluster.watch.guarantee
        guarantee.acknowledged.min_insync = {PLACE.topic: 2}
        _write(cluster, 5, replicas=2, min_insync=2)
        leader = _leader(cluster)
        follower = next(
            cluster.machines[node_id] for node_id in _isr(leader) if node_id != leader.node_id
        )
        follower.kill()
        simulator.run_until_true(
            lambda: _isr(leader) == [leader.node_id], LONG_US, "one is left in sync"
        )
        assert guarantee.may_lose(leader.node_id)
        guarantee.loses(leader.node_id)
        leader.lose_power()
        follower.start()
        simulator.run_until(simulator.now_us + 1_000_000)
        leader.power_up()
        leader.start()
        simulator.run_until_true(cluster.is_whole, LONG_US, "every replica is in sync")


def _write(cluster: Cluster, batches: int, replicas: int = 3, min_insync: int = 1) -> None:
    """Create a topic of one partition and write to it."""
    client = cluster.client("client")
    nodes = list(cluster.machines)
    administrator = Administrator(client, nodes, replicas)
    producer = Producer(client, "p", [PLACE], idempotent=False)

    async def work() -> None:
        await administrator.create_topic(PLACE.topic, 1, {"min.insync.replicas": str(min_insync)})
        while producer.acknowledged < batches:
            await producer.produce(PLACE)

    client.run(work())
    simulator = cluster.simulator
    simulator.run_until(simulator.now_us + 1_000)
    simulator.run_until_true(lambda: client.is_done, LONG_US, "all is written")


def _delete(cluster: Cluster, offset: int) -> None:
    """Delete the records below `offset`."""
    client = cluster.client("deleter")
    deleter = Deleter(client, [PLACE], cluster.watch)

    async def work() -> None:
        while True:
            try:
                return await deleter.delete(PLACE, offset)
            except TryAgain:
                client.lost_leader(PLACE)
                await client.pause(50, 100)

    client.run(work())
    simulator = cluster.simulator
    simulator.run_until(simulator.now_us + 1_000)
    simulator.run_until_true(lambda: client.is_done, LONG_US, "the records are deleted")


def _leader(cluster: Cluster) -> Machine:
    return next(
        machine for machine, partition in cluster.led_partitions() if partition.topic == PLACE.topic
    )


def _isr(machine: Machine) -> list[int]:
    assert machine.server is not None
    return machine.server.node.image.topics[PLACE.topic].partitions[PLACE.partition].isr
