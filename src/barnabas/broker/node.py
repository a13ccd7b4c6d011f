"""A node: everything a handler works with, wired together. `node_run` starts and stops it."""

from collections.abc import Callable, Iterator, Sequence

from barnabas.broker.control.active_controller import ActiveController
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.control.controller_calls import ControllerCalls
from barnabas.broker.control.controller_factory import new_controller
from barnabas.broker.control.departures import Departures
from barnabas.broker.control.disk_trust import DiskTrust
from barnabas.broker.control.lost_replicas import LostReplicas
from barnabas.broker.control.metadata_follower import Followers, MetadataFollower
from barnabas.broker.control.producer_ids import ProducerIds
from barnabas.broker.control.replica_logs import ReplicaLogs
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.control.topic_metadata_cache import TopicMetadataCache
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.marker_appends import MarkerAppends
from barnabas.broker.coordinator.marker_connections import MarkerConnections
from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.coordinator.transaction_markers import TransactionMarkers
from barnabas.broker.coordinator.transaction_verification import TransactionVerification
from barnabas.broker.environment import Environment
from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.broker.follower.replica_fetchers import ReplicaFetchers
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.node_credentials import NodeCredentials
from barnabas.broker.net.peers import Peers, peer_client_id
from barnabas.broker.net.refused_proofs import RefusedProofs
from barnabas.broker.quorum.configured_voters import parse_voters
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.replica.flusher import Flusher
from barnabas.broker.replica.isr_changes import IsrChanges
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.replica.recompression import Recompression
from barnabas.broker.runtime.node_threads import NodeThreads
from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.log import DataDirectory
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.raft import RaftConfig
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Listener

_DISCONNECT_MARGIN_MS = 50
"""A node considers itself fenced this much earlier than the controller does: it may have noticed
the lost connection later."""


class Node:
    """One broker's state. Handlers read it; only the controller changes the metadata."""

    def __init__(
        self,
        config: BrokerConfig,
        data: DataDirectory,
        environment: Environment,
        on_failure: Callable[[str], None],
        secret: bytes | None = None,
    ) -> None:
        """`on_failure` is called with the reason when the node can't go on. `secret` is the
        cluster's, if it has one."""
        self.config = config
        self.data = data
        self.environment = environment
        self._on_failure = on_failure
        self.refused_proofs = RefusedProofs()
        self.loop = loop = environment.loop
        self.clock = clock = environment.clock
        self.random = environment.random
        self.node_id = data.node_id
        self.rack = config.node.rack
        self.image = MetadataImage()
        self.threads = threads = NodeThreads(environment.threads, environment.process)
        self.executor = threads.disk
        self.flusher = Flusher(loop, threads.flush, clock)
        self.recompression = Recompression(loop, threads.compress)
        self.connections = ConnectionLimits(loop, config)
        self.topic_metadata = TopicMetadataCache(self.image)
        self.fetch_sessions = FetchSessions(config.fetch.max_sessions, self.random)
        self._incarnation_id = self.random.randbytes(16)
        named = parse_voters(config.node.quorum_voters)
        self.credentials = NodeCredentials(
            data,
            environment.disk,
            loop,
            threads.metadata,
            self.random,
            lambda: self.quorum.cluster_id,
            secret,
        )
        self.peers = Peers(
            loop,
            clock,
            self._address_of,
            self._peer_lost,
            peer_client_id(self.node_id),
            self.credentials.current,
            self.random.randbytes,
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
                on_failure,
            ),
        )
        self.quorum = Quorum(
            node_id=self.node_id,
            data=data,
            disk=environment.disk,
            loop=loop,
            clock=clock,
            random=self.random,
            executor=threads.metadata,
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
        self.cluster = ClusterView(
            self.node_id,
            self.image,
            self.quorum,
            self.departures,
            {voter.id: voter.address for voter in named},
        )
        self.controller = ActiveController(
            loop,
            clock,
            self.quorum,
            lambda now_ms: new_controller(config, self.image, self.random, now_ms),
            self._replica_ends,
            self.quorum.stalls.total_ms,
        )
        self.calls = ControllerCalls(
            self.node_id,
            loop,
            clock,
            self.peers,
            self.controller,
            lambda: self.quorum.leader_id,
            lambda: self.quorum.log_end_offset,
            self._controller_is_gone,
        )
        self.topic_creation = TopicCreation(loop, self.calls, self.image, self.follower, config)
        self.producer_ids = ProducerIds(
            loop,
            self.node_id,
            self.calls,
            lambda: self.lifecycle.epoch,
            lambda: config.transactions.max_producer_ids_per_second,
        )
        self.isr_changes = IsrChanges(
            loop,
            node_id=self.node_id,
            broker_epoch=lambda: self.lifecycle.epoch,
            call_controller=lambda request, _: self.calls.call(request, lane="isr"),
            replica_lag_time_max_ms=config.replicas.lag_time_max_ms,
        )
        self.lost_replicas = LostReplicas(
            loop,
            self.calls,
            node_id=self.node_id,
            broker_epoch=lambda: self.lifecycle.epoch,
            refetch=self._refetch,
            reapply=self._reapply,
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
            on_follower_ready=self.isr_changes.enqueue,
            on_doubt=self.lost_replicas.doubt,
            on_offline=self.lost_replicas.offline,
            is_cut_off=lambda: self.lifecycle.is_cut_off,
            is_suspect=lambda: not self.lifecycle.is_disk_known,
            is_directory_new=lambda: self.lifecycle.is_directory_new,
            threads=environment.threads,
        )
        self._replica_logs = ReplicaLogs(loop, self.node_id, self.peers, self.partitions)
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
        self.marker_connections = MarkerConnections()
        self.marker_appends = MarkerAppends(loop, clock, self.partitions)
        self.transactions = TransactionCoordinator(
            loop,
            config,
            clock,
            lambda: self.image,
            lambda: self.lifecycle.is_cut_off,
            self.producer_ids.take,
            TransactionMarkers(
                loop, self.node_id, self.peers, self.image, self.marker_appends.write
            ),
        )
        self.transaction_verification = TransactionVerification(
            loop, clock, self.node_id, self.peers, self.image, self.transactions
        )
        self.marker_appends.on_marker += [
            self.transaction_verification.transaction_ended,
            self.groups.transaction_ended,
        ]
        self.partitions.leaders_changed += [
            self.fetchers.apply,
            self.groups.leader_changed,
            self.transactions.leader_changed,
        ]
        self.lifecycle = BrokerLifecycle(
            loop,
            clock,
            self.calls,
            DiskTrust(environment.disk, data.path, environment.boot_id),
            node_id=self.node_id,
            registration=self._registration,
            metadata_offset=lambda: self.follower.end_offset,
            is_settled=lambda: self.follower.is_in_step and self.lost_replicas.is_settled,
            may_vouch=lambda: not self.partitions.has_suspects,
            heartbeat_interval_ms=config.membership.heartbeat_interval_ms,
            session_timeout_ms=config.membership.session_timeout_ms,
            disconnect_grace_ms=ControllerConfig().disconnect_grace_ms - _DISCONNECT_MARGIN_MS,
            on_cut_off=self.partitions.cut_off,
            on_failure=on_failure,
            probe_voters=self.quorum.probe_voters,
        )

    # -- the cluster -----------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        return self.quorum.cluster_id

    async def _replica_ends(
        self, image: MetadataImage, asked: list[tuple[TopicImage, PartitionImage]]
    ) -> ReplicaEnds:
        return await self._replica_logs.ends(image, asked)

    def _reapply(self, partition: Partition) -> None:
        self.partitions.reapply(partition)

    def _refetch(self, partition: Partition) -> None:
        self.fetchers.apply(partition)

    def _registration(self, previous_epoch: int) -> BrokerRegistrationRequest:
        address = self.cluster.own_address
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener("PLAINTEXT", address.host, address.port, 0)],
            rack=self.rack,
            log_dirs=[self.data.directory_id],
            previous_broker_epoch=previous_epoch,
        )

    def _address_of(self, node_id: int) -> tuple[str, int] | None:
        return self.cluster.address_of(node_id)

    def _peer_lost(self, node_id: int) -> None:
        self.departures.lost(node_id)
        if node_id == self.quorum.leader_id:
            self.lifecycle.lost_contact()

    def _controller_is_gone(self) -> None:
        self.lifecycle.controller_is_gone()

    def _leader_changed(self) -> None:
        self.calls.leader_changed()
        self._controller_is_gone()
        self.lifecycle.wake()

    def _leadership(self, epoch: int | None) -> None:
        if epoch is None:
            self.controller.stopped()
        else:
            self.controller.started(self.departures.silent())
        self.lifecycle.wake()

    # -- following the metadata --------------------------------------------------------------------

    def _topic_changed(self, topic: TopicImage, indexes: Sequence[int]) -> None:
        self.topic_metadata.changed(topic.name)
        self.partitions.apply(topic, indexes)

    def _topic_removed(self, topic: TopicImage) -> Iterator[int]:
        self.topic_metadata.changed(topic.name)
        # This comes first: the partitions take a while, and meanwhile offsets may be committed for
        # a new topic of that name.
        self.groups.topics_deleted({topic.name})
        self.transactions.topics_deleted({topic.name})
        yield from self.partitions.delete_topic(topic.name, topic.topic_id)

    def _topic_reconfigured(self, name: str) -> None:
        self.partitions.reconfigure(name)

    def _reconfigure_broker(self) -> None:
        self.config.set_dynamic(self.image.broker_configs(self.node_id))
        self.connections.configure(self.config)
        self.fetch_sessions.max_sessions = self.config.fetch.max_sessions

    def _brokers_changed(self) -> None:
        self.topic_metadata.brokers_changed()
        self.departures.brokers_changed()
        self.partitions.brokers_changed()
        me = self.image.brokers.get(self.node_id)
        if me is not None and me.incarnation_id == self._incarnation_id:
            if self.follower.is_held:
                self.partitions.report_missing_replicas()
            self.follower.release()
        self.lifecycle.wake()

    async def in_step(self) -> None:
        """Wait until this node has applied all committed metadata that it knows of."""
        await self.follower.in_step()
