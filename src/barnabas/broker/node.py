"""A node: everything a handler works with."""

import logging
from asyncio import sleep
from collections.abc import Callable, Iterator, Sequence

from barnabas.broker.active_controller import ActiveController
from barnabas.broker.config import BrokerConfig
from barnabas.broker.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.departures import Departures
from barnabas.broker.environment import Environment
from barnabas.broker.fetch_sessions import FetchSessions
from barnabas.broker.flusher import Flusher
from barnabas.broker.group_coordinator import GroupCoordinator
from barnabas.broker.isr_changes import IsrChanges
from barnabas.broker.lifecycle import Lifecycle
from barnabas.broker.metadata_follower import Followers, MetadataFollower
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.door import ConnectionDoor
from barnabas.broker.net.listeners import Address
from barnabas.broker.partitions import Partitions
from barnabas.broker.peers import Peers, peer_client_id
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.replica_fetchers import ReplicaFetchers
from barnabas.broker.topic_answers import TopicAnswers
from barnabas.broker.trust import DiskTrust
from barnabas.broker.voters import parse_voters
from barnabas.controller.controller import Controller
from barnabas.controller.controller_config import ControllerConfig
from barnabas.log import DataDirectory, StorageError
from barnabas.metadata.image import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    BrokerImage,
    MetadataImage,
    TopicImage,
)
from barnabas.raft import RaftConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Listener
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

logger = logging.getLogger(__name__)

_TURNS_TO_ANSWER = 3
"""Turns of the event loop that a decided answer takes to its socket: encoding, order, writing."""
_CREATED_SEEN_S = 2.0
"""How long to wait for a topic to be seen here that the controller has created."""


class Node:
    """One broker's state. Handlers read it; what is agreed changes by way of the controller."""

    def __init__(
        self,
        config: BrokerConfig,
        data: DataDirectory,
        environment: Environment,
        on_failure: Callable[[str], None],
    ) -> None:
        """`on_failure` is told why the node can't go on, should that come to pass."""
        self.config = config
        self.data = data
        self.environment = environment
        self._on_failure = on_failure
        self.loop = loop = environment.loop
        self.clock = clock = environment.clock
        self.random = environment.random
        self.node_id = data.node_id
        self.rack = config.text("broker.rack")
        self.advertised = Address("localhost", 0)
        self.image = MetadataImage()
        self.executor = environment.threads(2, "disk")
        # Apart from the others: whoever waits for a flush shall not wait for a compaction.
        self._flushing = environment.threads(4, "flush")
        self.flusher = Flusher(loop, self._flushing, clock)
        self.door = ConnectionDoor(loop, config)
        self.topic_answers = TopicAnswers(self.image)
        self.fetch_sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), self.random
        )
        self._incarnation_id = self.random.randbytes(16)
        self._producer_ids = iter(range(0))
        named = parse_voters(config.text("controller.quorum.voters"))
        self._voters = {voter.id: voter.address for voter in named}
        self.peers = Peers(
            loop, clock, self._address_of, self._peer_lost, peer_client_id(self.node_id)
        )
        self.departures = Departures(loop, clock, self.image, self.peers.is_connected)
        self.follower = MetadataFollower(
            loop,
            self.image,
            Followers(
                self._topic_changed,
                self._topic_removed,
                self._topic_reconfigured,
                self._reconfigure_broker,
                self._brokers_changed,
            ),
        )
        self.quorum = Quorum(
            node_id=self.node_id,
            data=data,
            disk=environment.disk,
            loop=loop,
            clock=clock,
            random=self.random,
            executor=environment.threads(1, "metadata"),
            peers=self.peers,
            voters=[(voter.id, voter.address.host, voter.address.port) for voter in named],
            config=RaftConfig(),
            on_restore=self.follower.restore,
            on_commit=self.follower.commit,
            on_leadership=self._leadership,
            on_leader_change=self._leader_changed,
            on_failure=lambda error: on_failure(str(error)),
            snapshot=self.image.snapshot,
        )
        self.controller = ActiveController(loop, clock, self.quorum, self._new_controller)
        self.calls = ControllerCalls(
            self.node_id,
            loop,
            clock,
            self.peers,
            self.controller,
            lambda: self.quorum.leader_id,
            lambda: self.quorum.high_watermark,
        )
        self.isr_changes = IsrChanges(
            loop,
            node_id=self.node_id,
            broker_epoch=lambda: self.lifecycle.epoch,
            call_controller=lambda request, _: self.calls.call(request, lane="isr"),
            replica_lag_time_max_ms=config.number("replica.lag.time.max.ms"),
        )
        self.partitions = Partitions(
            config,
            self.image,
            data,
            environment.disk,
            loop,
            self.executor,
            self.flusher.appended,
            clock=clock,
            node_id=self.node_id,
            on_follower_ready=self.isr_changes.look,
            is_cut_off=lambda: self.lifecycle.is_cut_off,
            threads=environment.threads,
        )
        self.fetchers = ReplicaFetchers(
            self.peers,
            config,
            node_id=self.node_id,
            broker_epoch=lambda: self.lifecycle.epoch,
            flush=self.flusher.flush,
            remove=self.partitions.run_later,
        )
        self.groups = GroupCoordinator(
            loop, config, clock, self.random, lambda: self.image, lambda: self.lifecycle.is_cut_off
        )
        self.partitions.leaders_changed += [self.fetchers.apply, self.groups.leader_changed]
        self.lifecycle = Lifecycle(
            loop,
            clock,
            self.calls,
            DiskTrust(environment.disk, data.path, environment.boot_id),
            registration=self._registration,
            metadata_offset=lambda: self.follower.end_offset,
            heartbeat_interval_ms=config.number("broker.heartbeat.interval.ms"),
            session_timeout_ms=config.number("broker.session.timeout.ms"),
            on_cut_off=self.partitions.cut_off,
        )

    # -- the cluster -----------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        return self.quorum.cluster_id

    @property
    def controller_id(self) -> int:
        """Who clients may take for the controller: any node sends their requests on."""
        leader_id = self.quorum.leader_id
        is_live = leader_id in self.image.brokers and not self.image.brokers[leader_id].fenced
        return leader_id if leader_id is not None and is_live else self.node_id

    def brokers(self, connection: Connection) -> Iterator[tuple[BrokerImage, Address]]:
        """Every broker, and where the client behind `connection` is told to find it."""
        for broker in self.image.brokers.values():
            if broker.id == self.node_id and self.advertised.is_wildcard:
                yield broker, Address(connection.local_host, self.advertised.port)
            else:
                yield broker, _address(broker)

    def listed_brokers(self, connection: Connection) -> list[tuple[BrokerImage, Address]]:
        return [found for found in self.brokers(connection) if self.departures.is_listed(found[0])]

    def endpoint_of(self, broker_id: int, connection: Connection) -> Address | None:
        """Where a client finds this broker; None if it is not up."""
        found = self.listed_brokers(connection)
        return next((address for broker, address in found if broker.id == broker_id), None)

    def _address_of(self, node_id: int) -> tuple[str, int] | None:
        broker = self.image.brokers.get(node_id)
        if broker is not None:
            address = _address(broker)
            return address.host, address.port
        return self.quorum.address_of(node_id)

    def _new_controller(self, now_ms: int) -> Controller:
        config = self.config
        return Controller(
            self.image,
            ControllerConfig(
                session_timeout_ms=config.number("broker.session.timeout.ms"),
                auto_leader_rebalance=config.flag("auto.leader.rebalance.enable"),
                leader_imbalance_check_interval_ms=1000
                * config.number("leader.imbalance.check.interval.seconds"),
            ),
            settings=config.settings,
            new_uuid=lambda: self.random.randbytes(16),
            now_ms=now_ms,
        )

    def _registration(self, vouched_epoch: int) -> BrokerRegistrationRequest:
        host = self.advertised.host
        if self.advertised.is_wildcard:
            named = self._voters.get(self.node_id)
            host = named.host if named is not None else "localhost"
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener("PLAINTEXT", host, self.advertised.port, 0)],
            rack=self.rack,
            log_dirs=[self.data.directory_id],
            previous_broker_epoch=vouched_epoch,
        )

    def _peer_lost(self, node_id: int) -> None:
        self.departures.lost(node_id)

    def _leader_changed(self) -> None:
        self.calls.leader_changed()
        self.lifecycle.wake()

    def _leadership(self, epoch: int | None) -> None:
        if epoch is None:
            self.controller.stopped()
        else:
            self.controller.started(self.departures.silent())
        self.lifecycle.wake()

    # -- following what is agreed ------------------------------------------------------------------

    def _topic_changed(self, topic: TopicImage, indexes: Sequence[int]) -> None:
        self.topic_answers.changed(topic.name)
        self.partitions.apply(topic, indexes)

    def _topic_removed(self, topic: TopicImage) -> None:
        self.topic_answers.changed(topic.name)
        self.partitions.delete_topic(topic.name, topic.topic_id)
        self.groups.topics_deleted({topic.name})

    def _topic_reconfigured(self, name: str) -> None:
        self.partitions.reconfigure(name)

    def _reconfigure_broker(self) -> None:
        self.config.set_dynamic(self.image.broker_configs(self.node_id))
        self.door.configure(self.config)
        self.fetch_sessions.max_sessions = self.config.number(
            "max.incremental.fetch.session.cache.slots"
        )

    def _brokers_changed(self) -> None:
        self.topic_answers.brokers_changed()
        self.departures.brokers_changed()
        self.partitions.brokers_changed()
        me = self.image.brokers.get(self.node_id)
        if me is not None and me.incarnation_id == self._incarnation_id:
            if self.follower.is_held:
                self.partitions.say_what_is_lost()
            self.follower.release()
        self.lifecycle.wake()

    async def in_step(self) -> None:
        """Wait until this node has done what follows from all that it knows to be agreed."""
        await self.follower.in_step()

    # -- topics ------------------------------------------------------------------------------------

    async def auto_create(self, names: list[str]) -> dict[str, int]:
        """Create topics a client asked for by name; the error code of each."""
        errors: dict[str, int] = {}
        # Internal topics are asked for one by one, the others together.
        internal = [[name] for name in names if name in INTERNAL_TOPICS]
        for group in [*internal, [name for name in names if name not in INTERNAL_TOPICS]]:
            errors |= await self._create(group)
        await self._seen([name for name, error in errors.items() if error == 0])
        return errors

    async def _create(self, names: list[str]) -> dict[str, int]:
        if not names:
            return {}
        request = CreateTopicsRequest([CreatableTopic(name, -1, -1) for name in names])
        try:
            response = await self.calls.call(request)
        except ControllerUnavailable:
            return dict.fromkeys(names, ErrorCode.LEADER_NOT_AVAILABLE)
        return {
            result.name: 0
            if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
            else result.error_code
            for result in response.topics
        }

    async def ensure_offsets_topic(self) -> ErrorCode:
        """Have the topic of the groups created unless it is there."""
        if CONSUMER_OFFSETS in self.image.topics:
            return ErrorCode.NONE
        errors = await self.auto_create([CONSUMER_OFFSETS])
        return ErrorCode(errors[CONSUMER_OFFSETS])

    async def _seen(self, names: list[str]) -> None:
        """Wait a while for topics that exist to be known here, so that a client hears of them."""
        deadline = self.loop.time() + _CREATED_SEEN_S
        while any(name not in self.image.topics for name in names):
            if self.loop.time() > deadline:
                return
            await sleep(0.005)
        await self.in_step()

    async def next_producer_id(self) -> int:
        """An id no producer has had. Raises `ControllerUnavailable`."""
        while True:
            producer_id = next(self._producer_ids, None)
            if producer_id is not None:
                return producer_id
            request = AllocateProducerIdsRequest(self.node_id, self.lifecycle.epoch)
            block = await self.calls.call(request)
            if block.error_code:
                raise ControllerUnavailable(ErrorCode(block.error_code).name)
            first = block.producer_id_start
            self._producer_ids = iter(range(first, first + block.producer_id_len))

    # -- beginning and end -------------------------------------------------------------------------

    async def start(self) -> None:
        """Join the cluster; returns when this node serves what it is to serve.

        Raises `StorageError`.
        """
        await self.quorum.start()
        self.lifecycle.start()
        await self.lifecycle.unfenced.wait()
        await self.in_step()
        self.isr_changes.start(self.partitions.led)
        self.partitions.set_strays_aside(keep={CLUSTER_METADATA})

    async def leave(self) -> None:
        """Hand over what is led here, if somebody is there to take it."""
        others = any(
            not broker.fenced for broker in self.image.brokers.values() if broker.id != self.node_id
        )
        if (
            others
            and self.lifecycle.unfenced.is_set()
            and self.config.flag("controlled.shutdown.enable")
        ):
            await self.lifecycle.leave(self.config.number("controlled.shutdown.max.wait.ms"))

    async def close(self) -> None:
        """Answer the members of groups, flush and close everything."""
        self.door.take_no_more()
        self.groups.close()
        for _ in range(_TURNS_TO_ANSWER):
            await sleep(0)
        self.door.close()
        await self.lifecycle.stop()
        self.controller.stopped()
        await self.isr_changes.close()
        await self.fetchers.close()
        await self.quorum.close()
        self.peers.close()
        self.follower.close()
        await self.flusher.close()
        self._flushing.shutdown(wait=True)
        self.executor.shutdown(wait=True)
        self.partitions.close()
        try:
            self.lifecycle.closed_well()
        except StorageError as error:
            logger.error("the next start can't trust this disk: %s", error)
        self.data.close()


def _address(broker: BrokerImage) -> Address:
    _, host, port = broker.endpoints[0]
    return Address(host, port)
