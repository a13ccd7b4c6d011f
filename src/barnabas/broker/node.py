"""A node: everything a handler works with, wired together. `node_run` starts and stops it."""

from asyncio import Task
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.control.active_controller import ActiveController
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.control.controller_calls import ControllerCalls
from barnabas.broker.control.controller_factory import new_controller
from barnabas.broker.control.departures import Departures
from barnabas.broker.control.disk_trust import DiskTrust
from barnabas.broker.control.first_features import raise_first_levels
from barnabas.broker.control.initial_users import is_new_cluster, load_initial_users
from barnabas.broker.control.lost_replicas import LostReplicas
from barnabas.broker.control.metadata_follower import Followers, MetadataFollower
from barnabas.broker.control.node_features import FeaturesOfNodes
from barnabas.broker.control.producer_ids import ProducerIds
from barnabas.broker.control.replica_logs import ReplicaLogs
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.control.topic_metadata_cache import TopicMetadataCache
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.marker_appends import MarkerAppends
from barnabas.broker.coordinator.marker_connections import MarkerConnections
from barnabas.broker.coordinator.member_connections import MemberConnections
from barnabas.broker.coordinator.share_coordinator import ShareCoordinator
from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.coordinator.transaction_markers import TransactionMarkers
from barnabas.broker.coordinator.transaction_verification import TransactionVerification
from barnabas.broker.environment import Environment
from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.broker.follower.replica_fetchers import ReplicaFetchers
from barnabas.broker.net.cluster_secret import load_secret
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.listener import listeners_of
from barnabas.broker.net.listener_tls import ListenerTls
from barnabas.broker.net.node_credentials import NodeCredentials
from barnabas.broker.net.peers import Peers, peer_client_id
from barnabas.broker.net.refused_proofs import RefusedProofs
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.net.sign_in.sign_ins import SignIns
from barnabas.broker.net.sign_in.withdrawn_credentials import WithdrawnCredentials
from barnabas.broker.quorum.catch_up import has_caught_up
from barnabas.broker.quorum.configured_voters import parse_voters
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.quotas.client_quotas import ClientQuotas
from barnabas.broker.replica.compaction_backlog import CompactionBacklog
from barnabas.broker.replica.flusher import Flusher
from barnabas.broker.replica.isr_changes import IsrChanges
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.replica.recompression import Recompression
from barnabas.broker.replica.topic_traffic import TopicTraffic
from barnabas.broker.runtime.node_threads import NodeThreads
from barnabas.broker.settings.config import BrokerConfig
from barnabas.broker.share.group_states import GroupStates
from barnabas.broker.share.share_partitions import SharePartitions
from barnabas.broker.share.share_sessions import ShareSession, ShareSessions
from barnabas.broker.share.share_settings import ShareSettingsReader
from barnabas.broker.share.state_calls import StateCalls
from barnabas.broker.telemetry.telemetry import Telemetry
from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.log import DataDirectory, OffsetOutOfRange, StorageError
from barnabas.metadata.features import FeatureRanges
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.raft import RaftConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

_HEARTBEATS_MISSED = 1.5  # by a member of a consumer group, after its connection broke
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
        tls: Mapping[str, ListenerTls] | None = None,
    ) -> None:
        """`on_failure` is called with the reason when the node can't go on. `secret` is the
        cluster's, if it has one. `tls` is that of listeners, by name."""
        self.config = config
        self.tls = tls or {}
        self.data = data
        self.environment = environment
        self._on_failure = on_failure
        self.on_reconfigured: Callable[[], None] | None = None
        """Called when settings of this broker have changed while it runs."""
        self.refused_proofs = RefusedProofs(environment.clock.steady_s)
        self.request_errors = RequestErrors()
        self.telemetry = Telemetry(
            environment.clock.steady_ms,
            environment.random,
            lambda: config.monitoring.telemetry_max_bytes,
        )
        self.loop = loop = environment.loop
        self.clock = clock = environment.clock
        self.random = environment.random
        self.node_id = data.node_id
        self.rack = config.node.rack
        self.image = MetadataImage()
        self.threads = threads = NodeThreads(
            environment.threads, environment.process, environment.cpus
        )
        self.executor = threads.disk
        self.flusher = Flusher(loop, threads.flush, clock)
        self.recompression = Recompression(loop, threads.compress)
        self.split_productions: set[object] = set()
        """Produce requests that are being stored, in several turns of the event loop."""
        self.compaction_backlog = CompactionBacklog()
        self.connections = ConnectionLimits(loop, config)
        self.authorization = Authorization(config.authorizer, clock.steady_ms)
        self.client_quotas = ClientQuotas(clock.steady_ms, clock.steady_s, config.quotas)
        self.topic_metadata = TopicMetadataCache(self.image)
        self.fetch_sessions = FetchSessions(config.fetch.max_sessions, self.random)
        self._incarnation_id = self.random.randbytes(16)
        named = parse_voters(config.node.quorum_voters)
        self.listeners = listeners_of(config)
        inter_broker = self.listeners[config.listeners.inter_broker.name]
        self.credentials = NodeCredentials(
            data,
            environment.disk,
            loop,
            threads.metadata,
            self.random,
            lambda: self.quorum.cluster_id,
            secret,
            None
            if environment.secret
            else partial(load_secret, environment.disk, config, data.path),
        )
        self.sign_ins = SignIns(loop, self.random, config, self.image, self.credentials, clock)
        self.peers = Peers(
            loop,
            clock,
            self._addresses_of,
            self._peer_lost,
            peer_client_id(self.node_id),
            self.credentials.current,
            self.random.randbytes,
            self.tls.get(inter_broker.name),
            environment.release,
        )
        self.departures = Departures(loop, clock, self.image, self.peers.is_connected)
        self.follower = MetadataFollower(
            loop,
            self.image,
            Followers(
                self._topic_changed,
                self._topics_removed,
                self._topic_removed,
                self._topic_reconfigured,
                self._reconfigure_broker,
                self._brokers_changed,
                self.authorization.restore,
                self.authorization.changed,
                WithdrawnCredentials(self.image, lambda: self.connections.connections).end,
                self._quotas_changed,
                self._client_metrics_changed,
                self._features_changed,
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
            snapshot_records=environment.snapshot_records,
            listener=inter_broker.name,
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
            inter_broker,
        )
        self.controller = ActiveController(
            loop,
            clock,
            self.quorum,
            lambda now_ms: new_controller(config, self.image, self.random, now_ms, clock.now_ms),
            self._replica_ends,
            self.quorum.stalls.total_ms,
            load_initial_users(environment.disk, config, data.cluster_id, self.random),
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
            ask_nodes=FeaturesOfNodes(
                self.node_id,
                environment.release.features,
                self.peers,
                self.image,
                lambda: [key.node_id for key in self.quorum.voters.keys],
            ).ask,
        )
        self.first_features: Task[None] | None = None
        """Raises the levels of a new cluster."""
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
            write_down=self._write_down_settled,
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
            on_unwritable=self.lost_replicas.unwritable,
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
            loop,
            config,
            clock,
            self.random,
            lambda: self.image,
            lambda: self.lifecycle.is_cut_off,
            lambda: self.clock_lead_ms,
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
            lambda: self.clock_lead_ms,
        )
        self.transaction_verification = TransactionVerification(
            loop, clock, self.node_id, self.peers, self.image, self.transactions
        )
        self.share_coordinator = ShareCoordinator(
            loop,
            config,
            clock,
            lambda: self.image,
            lambda: self.lifecycle.is_cut_off,
            self._delete_records_before,
        )
        self.share_states = StateCalls(
            loop,
            self.node_id,
            self.image,
            self.peers,
            self.share_coordinator,
            self.topic_creation,
            config.shares.write_timeout_ms,
        )
        self.share_group_states = GroupStates(loop, self.groups, self.share_states)
        self.share_partitions = SharePartitions(
            loop,
            clock,
            self.share_states,
            ShareSettingsReader(config, self.image),
            lambda: has_caught_up(self.quorum),
        )
        self.share_sessions = ShareSessions(
            lambda: config.shares.max_sessions,
            self._share_session_ended,
            self.share_partitions.group_left,
        )
        self.share_member_connections = MemberConnections(
            loop,
            lambda: config.shares.disconnect_grace_ms,
            self.share_sessions.has,
            self._is_group_member,
            self._share_member_lost,
        )
        self.member_connections = MemberConnections(
            loop,
            lambda: config.groups.disconnect_grace_ms,
            lambda _group_id, _member_id: False,
            self._is_group_member,
            self._member_lost,
            heartbeats=_HEARTBEATS_MISSED,
        )
        self.marker_appends.on_marker += [
            self.transaction_verification.transaction_ended,
            self.groups.transaction_ended,
        ]
        self.traffic = TopicTraffic()
        self.partitions.leaders_changed += [
            self.traffic.leader_changed,
            self.fetchers.apply,
            self.groups.leader_changed,
            self.transactions.leader_changed,
            self.share_coordinator.leader_changed,
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
            may_vouch=self._may_vouch,
            heartbeat_interval_ms=config.membership.heartbeat_interval_ms,
            session_timeout_ms=config.membership.session_timeout_ms,
            disconnect_grace_ms=ControllerConfig().disconnect_grace_ms - _DISCONNECT_MARGIN_MS,
            on_cut_off=self.partitions.cut_off,
            on_failure=on_failure,
            probe_voters=self.quorum.probe_voters,
            lacks_decisions=lambda: self.quorum.lacks_decisions,
        )

    # -- the cluster -----------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        return self.quorum.cluster_id

    @property
    def clock_lead_ms(self) -> int:
        """How far this node's clock is ahead of others, by which nothing must expire that they have
        stamped."""
        lead_ms = self.lifecycle.clock_lead_ms
        return self.quorum.clock_lead_ms if lead_ms is None else lead_ms

    async def _replica_ends(
        self, image: MetadataImage, asked: list[tuple[TopicImage, PartitionImage]]
    ) -> ReplicaEnds:
        return await self._replica_logs.ends(image, asked)

    def _reapply(self, partition: Partition) -> None:
        self.partitions.reapply(partition)

    def _may_vouch(self) -> bool:
        return not (self.partitions.has_suspects or self.lost_replicas.has_unsettled)

    def _write_down_settled(self) -> None:
        self.partitions.high_watermarks.write_now()

    def _refetch(self, partition: Partition) -> None:
        self.fetchers.apply(partition)

    def _registration(self, previous_epoch: int) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener(*endpoint) for endpoint in self.cluster.own_endpoints()],
            features=[Feature(name, *levels) for name, levels in self._supported.items()],
            rack=self.rack,
            log_dirs=[self.data.directory_id],
            previous_broker_epoch=previous_epoch,
        )

    def _addresses_of(self, node_id: int) -> list[tuple[str, int]]:
        return self.cluster.addresses_of(node_id)

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
            is_new = is_new_cluster(self.image)
            self.controller.started(self.departures.silent())
            if is_new:
                self.first_features = self.loop.create_task(
                    raise_first_levels(self.calls, self._supported)
                )
        self.lifecycle.wake()

    # -- groups ------------------------------------------------------------------------------------

    def _is_group_member(self, group_id: str, member_id: str) -> bool:
        shard = self.groups.find(group_id)
        return not isinstance(shard, ErrorCode) and shard.groups.is_member(group_id, member_id)

    def _member_lost(self, group_id: str, member_id: str) -> None:
        """The same for a consumer group."""
        shard = self.groups.find(group_id)
        if not isinstance(shard, ErrorCode):
            shard.carry_out(shard.groups.disconnected(group_id, member_id, shard.now_ms()))

    def _share_member_lost(self, group_id: str, member_id: str) -> None:
        """A member's connection to the coordinator of its group broke, and it did not come back."""
        shard = self.groups.find(group_id)
        if not isinstance(shard, ErrorCode):
            shard.carry_out(shard.groups.share.disconnected(group_id, member_id, shard.now_ms()))

    def _share_session_ended(self, session: ShareSession) -> None:
        for each in self.share_partitions.of_group(session.group_id):
            each.release_member(session.member_id)

    def _delete_records_before(self, partition: LeaderPartition, offset: int) -> None:
        """Delete what a coordinator no longer needs of its log."""
        assert isinstance(partition, Partition)
        try:
            job = partition.delete_records_before(offset)
        except (OffsetOutOfRange, StorageError) as error:
            partition.log_refusal(error, self.clock.steady_ms())
            return
        if job is not None:
            self.partitions.run_later(job)

    # -- following the metadata --------------------------------------------------------------------

    def _topic_changed(self, topic: TopicImage, indexes: Sequence[int]) -> None:
        self.topic_metadata.changed(topic.name)
        self.groups.topic_changed(topic)
        self.partitions.apply(topic, indexes)

    def _topics_removed(self, topics: Sequence[TopicImage]) -> None:
        """Let coordinators forget topics before a request can be about new ones of their names."""
        names = {topic.topic_id: topic.name for topic in topics}
        self.groups.topics_deleted(names)
        # Where there is a new topic of that name already, a marker may be for that one. One that
        # it does not need does no harm.
        self.transactions.topics_deleted(set(names.values()).difference(self.image.topics))
        self.share_coordinator.topics_deleted(names.keys())

    def _topic_removed(self, topic: TopicImage) -> Iterator[int]:
        self.topic_metadata.changed(topic.name)
        yield from self.partitions.delete_topic(topic.name, topic.topic_id)

    def _topic_reconfigured(self, name: str) -> None:
        self.partitions.reconfigure(name)

    def _reconfigure_broker(self) -> None:
        self.config.set_dynamic(self.image.broker_configs(self.node_id))
        self.connections.configure(self.config)
        self.sign_ins.reconfigure()
        self.fetch_sessions.max_sessions = self.config.fetch.max_sessions
        if self.on_reconfigured is not None:
            self.on_reconfigured()
        if self.tls:  # once all settings of a change are there: a key belongs to its certificate
            self.loop.call_soon(self.refresh_tls)

    def refresh_tls(self) -> None:
        """Take over certificates that were replaced."""
        for tls in self.tls.values():
            tls.refresh()

    def _quotas_changed(self) -> None:
        self.client_quotas.apply(self.image.client_quotas.quotas)
        self.connections.rates.limits = self.client_quotas.limits

    def _client_metrics_changed(self) -> None:
        self.telemetry.apply(self.image.client_metrics())

    @property
    def _supported(self) -> FeatureRanges:
        return self.environment.release.features

    def _features_changed(self) -> None:
        why = self.image.features.unsupported_by(self._supported)
        if why is not None:
            self._on_failure(f"{why}: install the release that the other nodes run")

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
