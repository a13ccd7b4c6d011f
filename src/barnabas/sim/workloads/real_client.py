"""The real client in a simulation: its producer and members of a group, with the same guarantees.

The other clients here are little ones of the simulator. These are what applications use, without
the engine's thread: they run in the loop of a simulated process, on its clock and network.

What is checked of them: acknowledged records stand at their offsets, messages come in order and
without gaps, a partition has one owner in a generation, and a member that takes a partition over
begins no later than the position of the group.
"""

from collections.abc import Callable

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import ClientEnvironment
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.rebalancer import PartitionChange, RebalanceEvent
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import BarnabasError, BrokerError, CorruptRecords
from barnabas.records.message import Message
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import TIMEOUT_MS, Client
from barnabas.sim.machine.machine import PORT
from barnabas.wire.errors import ErrorCode

_FOR_EVER_MS = 1_000_000_000
_EPOCH_MS = 1_700_000_000_000
_GROUP = "real-readers"
_COMMIT_INTERVAL_MS = 500
_SESSION_MS = 1_000
_POLL_MS = 300
_AT_ONCE = 50
_LEAVES = 0.02


class RealClientWorkload:
    """A producer and two members of a group, in one process."""

    def __init__(self, client: Client, hosts: list[str], places: list[Place]) -> None:
        self._client = client
        self._bootstrap = [f"{host}:{PORT}" for host in hosts]
        self._places = places
        self._reached = dict.fromkeys(places, 0)
        """Behind the last message that any member got."""
        self.acknowledged = 0
        self.delivered = 0

    def begin(self) -> None:
        self._client.run(self._produce())
        for number in range(2):
            self._client.run(self._consume(f"real-member-{number}"))

    def _cluster(self) -> ClusterClient:
        client = self._client
        return ClusterClient(
            self._bootstrap,
            client_id=client.name,
            connect_timeout_ms=TIMEOUT_MS,
            request_timeout_ms=TIMEOUT_MS,
            retry_timeout_ms=_FOR_EVER_MS,
            on_retry=self._remark,
            environment=ClientEnvironment(client.process.time, client.random.random),
        )

    def _remark(self, error: BarnabasError, _failing_s: float) -> None:
        self._client.simulator.remark("%s: %s", self._client.name, error)

    async def _reach(self, cluster: ClusterClient) -> None:
        await cluster.retrying(lambda: cluster.refresh([]))

    # -- producing ---------------------------------------------------------------------------------

    async def _produce(self) -> None:
        client = self._client
        cluster = self._cluster()
        await self._reach(cluster)
        producer = RecordProducer(cluster, linger_ms=2, delivery_timeout_ms=_FOR_EVER_MS)
        await producer.start()
        numbers = dict.fromkeys(self._places, 0)
        while not client.is_stopping:
            place = client.random.choice(self._places)
            for _ in range(client.random.choice((1, 1, 3))):
                value = f"real!{place}:{numbers[place]}".encode()
                numbers[place] += 1
                client.history.sending(place, value)
                now_ms = _EPOCH_MS + client.simulator.now_us // 1000
                sent = await producer.send(
                    place.topic, value, partition=place.partition, timestamp_ms=now_ms
                )
                sent.add_done_callback(self._acknowledge(place, value))
            await client.pause(50, 300)

    def _acknowledge(self, place: Place, value: bytes) -> Callable[[Sent], None]:
        def acknowledge(sent: Sent) -> None:
            error = sent.exception()
            if error is not None:
                raise Violation(f"the real producer has failed {value!r} of {place}: {error}")
            self._client.history.acknowledge(place, sent.result().offset, value)
            self.acknowledged += 1

        return acknowledge

    # -- consuming ---------------------------------------------------------------------------------

    async def _consume(self, name: str) -> None:
        client = self._client
        while not client.is_stopping:
            cluster = self._cluster()
            await self._reach(cluster)
            member = _Member(self._client, cluster, name, self._places, self._reached)
            await self._take_part(member)

    async def _take_part(self, member: "_Member") -> None:
        """Read for a while, and leave the group."""
        client = self._client
        while not client.is_stopping:
            try:
                self.delivered += await member.poll()
            except BarnabasError as error:
                self._remark(error, 0.0)
                if _is_rot(error):  # in the leader's log; it is repaired meanwhile
                    await self._leave(member)
                    return
                if not error.retriable:
                    raise
                # no broker was reached: an application polls again
            if client.random.random() < _LEAVES:
                await self._leave(member)
                return
            await client.pause(20, 200)

    async def _leave(self, member: "_Member") -> None:
        """Without the last commit, if the coordinator does not answer: it is read again then."""
        try:
            await member.core.close()
        except BarnabasError as error:
            if not error.retriable:
                raise
            self._remark(error, 0.0)


def _is_rot(error: BarnabasError) -> bool:
    """Whether the client has found a damaged batch, or the broker has said that there is one."""
    if isinstance(error, BrokerError):
        return error.code is ErrorCode.CORRUPT_MESSAGE
    return isinstance(error, CorruptRecords)


class _Member:
    """One consumer; another one follows when it has left."""

    def __init__(
        self,
        client: Client,
        cluster: ClusterClient,
        name: str,
        places: list[Place],
        reached: dict[Place, int],
    ) -> None:
        topics = sorted({place.topic for place in places})
        self._client = client
        self._name = name
        self._reached = reached
        self._next: dict[Place, int] = {}
        self._member = ClassicMember(
            cluster,
            _GROUP,
            topics,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=2 * _SESSION_MS,
        )
        self.core = ConsumerCore(
            cluster,
            topics,
            group_id=_GROUP,
            member=self._member,
            mode=CommitMode.AUTO,
            commit_interval_ms=_COMMIT_INTERVAL_MS,
            tuning=FetchTuning(max_wait_ms=_POLL_MS),
        )
        self.core.close_timeout_s = TIMEOUT_MS / 1000

    async def poll(self) -> int:
        """Take what is there, as `Consumer.poll` does; returns how many messages came."""
        queue = self.core.delivery_queue
        queue.settle()
        messages = queue.take(_AT_ONCE)
        if not messages:
            event = await self.core.wait_for_messages(_POLL_MS)
            if event is not None:
                self._rebalanced(event)
                await self.core.event_handled()
            messages = queue.take(_AT_ONCE)
        for message in messages:
            self._take(message)
        return len(messages)

    def _rebalanced(self, event: RebalanceEvent) -> None:
        for partition in event.partitions:
            place = Place(*partition)
            self._next.pop(place, None)
            if event.change is PartitionChange.ASSIGNED:
                self._begin(partition, place)
        if event.change is PartitionChange.ASSIGNED:
            membership = self._member.membership
            places = [Place(*each) for each in event.partitions]
            self._client.history.assigned(
                _GROUP, membership.generation_id, membership.member_id, places
            )

    def _begin(self, partition: TopicPartition, place: Place) -> None:
        if partition not in self.core.fetcher.states:
            return  # the group has rebalanced again
        start = self.core.position(partition)
        if start > self._reached[place]:
            raise Violation(
                f"{self._name} begins {place} at {start}, and {_GROUP} got only to "
                f"{self._reached[place]}"
            )
        self._next[place] = start

    def _take(self, message: Message) -> None:
        place = Place(message.topic, message.partition)
        expected = self._next.get(place)
        if message.offset != expected:
            raise Violation(f"{self._name} got {place}@{message.offset}, expected {expected}")
        self._client.history.read(place, message.offset, message.value)
        self._next[place] = message.offset + 1
        self._reached[place] = max(self._reached[place], message.offset + 1)
