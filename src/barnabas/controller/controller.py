"""The controller: everything the cluster agrees on is decided here.

It runs on the leader of the metadata log, while that leads. What is persistent is the node's
`MetadataImage`, into which committed records are replayed. A controller has soft state only:

- `pending_image`: the committed image plus the records of pending decisions. Every decision is
  replayed into it at once, so that the next decision builds on it. An answer is given when its
  records are committed. If they never are, the pending image is wrong and the controller ends.
- `BrokerSessions`: when each broker was last heard from, and how far it has read the metadata.
- `StuckLeaders`: when to look for leaders that do not know that they lead.
- `LeaderBalanceSchedule`: when leadership is balanced next.
- `DelegationTokens`: tokens by what clients name them by, and when to look for expired ones.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.controller import (
    acls,
    alter_configs,
    isr_changes,
    lost_replicas,
    producer_ids,
    reassignments,
)
from barnabas.controller.client_quotas import alter_client_quotas
from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.controller.configs import BrokerSettings, TopicDefaults
from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.create_partitions import create_partitions, growth_throttled
from barnabas.controller.creation_budget import CreationBudget
from barnabas.controller.decision import BrokerSilent, Decision
from barnabas.controller.delegation_tokens import DelegationTokens
from barnabas.controller.draft import Draft
from barnabas.controller.elect_leaders import elect_leaders
from barnabas.controller.features.node_features import AllFeatures
from barnabas.controller.features.update_features import update_features
from barnabas.controller.internal_topics import asks_for_internal, internal_request
from barnabas.controller.leaders import leader_balance
from barnabas.controller.leaders.stuck_leaders import StuckLeaders
from barnabas.controller.liveness import (
    elect_leaderless,
    fence,
    has_leaderless,
    led_partitions,
)
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.registrations import register_broker, unregister_broker
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.controller.scram_credentials import alter_scram_credentials
from barnabas.controller.sessions.broker_clocks import BrokerClocks
from barnabas.controller.sessions.broker_sessions import BrokerSessions
from barnabas.controller.sessions.heartbeats import heartbeat
from barnabas.controller.topics import (
    TopicPolicy,
    create_topics,
    delete_topics,
    topics_throttled,
)
from barnabas.metadata.image import MetadataImage
from barnabas.security.principal import Principal
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from barnabas.wire.messages.metadata_records import PartitionRecord, UserScramCredentialRecord
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from barnabas.wire.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

AnswerT = TypeVar("AnswerT")


class Controller:
    """Each method decides; the records it returns are already in `pending_image`."""

    def __init__(
        self,
        image: MetadataImage,
        config: ControllerConfig,
        *,
        settings: BrokerSettings,
        new_uuid: Callable[[], bytes],
        now_ms: int,
        wall_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        """Begin with a copy of the committed `image`; every broker gets a new session.

        `settings` are those of the controller's own node; dynamic ones are looked up in the image.
        All times are of one steady clock, but for those of delegation tokens, which `wall_ms`
        tells.
        """
        self.pending_image = image.copy()
        self._config = config
        self._settings = settings
        self._new_uuid = new_uuid
        self._sessions = BrokerSessions(config, self.pending_image, now_ms)
        self._clocks = BrokerClocks()
        self._stuck_leaders = StuckLeaders(config, self._sessions)
        self._balance = leader_balance.LeaderBalanceSchedule(config, now_ms)
        self._creation_budget = CreationBudget(now_ms)
        self._tokens = DelegationTokens(
            config.tokens, self.pending_image, new_uuid, wall_ms, now_ms
        )
        self._taking_over_ms = now_ms if has_leaderless(self.pending_image) else None
        """When to hold elections that the former controller may have left undone."""

    # -- brokers and time --------------------------------------------------------------------------

    def register_broker(
        self, request: BrokerRegistrationRequest, now_ms: int
    ) -> Decision[BrokerRegistrationResponse]:
        """A broker starts: it gets an epoch, and is fenced until it has read the metadata."""
        self._balance.now_ms = now_ms
        draft = self._draft()
        is_controller = request.broker_id == self._settings.node_id
        answer = register_broker(draft, request, is_controller=is_controller)
        if not answer.error_code:
            self._sessions.end(request.broker_id)
        return draft.decision(answer)

    def heartbeat(
        self, request: BrokerHeartbeatRequest, now_ms: int, metadata_end_offset: int
    ) -> Decision[BrokerHeartbeatResponse]:
        """A broker is alive: unfence it, keep its session, or let it shut down.

        `metadata_end_offset` is the end of the metadata log; the request has how far the broker has
        replayed it.
        """
        self._balance.now_ms = now_ms
        draft = self._draft()
        answer = heartbeat(draft, self._sessions, request, now_ms, metadata_end_offset)
        self._stuck_leaders.heard(now_ms)
        if not answer.error_code and request.clock_ms >= 0:  # else it is of an earlier release
            self._clocks.heard(request.broker_id, request.clock_ms, now_ms)
            answer.slowest_clock_ms = self._clocks.slowest_ms(draft.image.brokers, now_ms)
        return draft.decision(answer)

    def disconnected(self, node_id: int, now_ms: int) -> None:
        """A broker's connection broke: it has to reconnect soon."""
        self._sessions.shorten(node_id, now_ms)

    def stalled(self, stalled_ms: int) -> None:
        """The controller stalled: missing heartbeats in that time do not count."""
        self._sessions.forgive(stalled_ms)

    def tick(self, now_ms: int) -> Decision[None]:
        """Do what is due: fence silent brokers, elect leaders, replace stuck ones, balance
        leadership, forget expired tokens."""
        self._balance.now_ms = now_ms
        draft = self._draft()
        expired = self._sessions.expired(now_ms)
        if expired:
            for node_id in expired:
                led = led_partitions(draft.image, node_id)
                silence = self._sessions.silence(node_id, now_ms)
                draft.broker_events.append(BrokerSilent(node_id, *silence, led))
            fence(draft, expired)
            for node_id in expired:
                self._sessions.end(node_id)
        if self._taking_over_ms is not None:
            self._taking_over_ms = None
            elect_leaderless(draft)
        self._stuck_leaders.move(draft, now_ms)
        if self._balance.is_due():
            finished = leader_balance.balance_leaders(draft, self._config)
            self._balance.done(finished=finished)
            if leader_balance.waits_for_broker(draft):
                self._balance.soon()
        self._tokens.forget_expired(draft, now_ms)
        return draft.decision(None)

    def next_deadline_ms(self) -> int | None:
        """When to call `tick` at the latest."""
        deadlines = (
            self._sessions.next_deadline_ms(),
            self._stuck_leaders.next_ms,
            self._balance.next_ms,
            self._taking_over_ms,
            self._tokens.next_check_ms(),
        )
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def unregister_broker(
        self, request: UnregisterBrokerRequest
    ) -> Decision[UnregisterBrokerResponse]:
        """Remove a broker that will not return; its replicas stay assigned to it."""
        draft = self._draft()
        answer = unregister_broker(draft, request)
        if not answer.error_code:
            self._sessions.end(request.broker_id)
        return draft.decision(answer)

    # -- partitions --------------------------------------------------------------------------------

    def alter_partition(self, request: AlterPartitionRequest) -> Decision[AlterPartitionResponse]:
        """A leader changes the in-sync set of its partitions."""
        draft = self._draft()
        answer = isr_changes.alter_partition(draft, request)
        if leader_balance.wanted_by(draft):
            self._balance.soon()
        return draft.decision(answer)

    def elect_leaders(
        self, request: ElectLeadersRequest, ends: ReplicaEnds
    ) -> Decision[ElectLeadersResponse]:
        """Elect the preferred leaders, or unclean ones for partitions without a leader."""
        draft = self._draft()
        return draft.decision(elect_leaders(draft, request, ends))

    def recover(self, ends: ReplicaEnds) -> Decision[None]:
        """Hold unclean elections; `ends` has the log ends of the replicas."""
        draft = self._draft()
        for topic_id, index in ends:
            topic = self.pending_image.topics_by_id.get(topic_id)
            partition = self.pending_image.partition(topic_id, index)
            if topic is not None and partition is not None and draft.unclean(topic.name):
                change_partition(draft, topic, partition, ends=ends)
        draft.to_recover.clear()
        return draft.decision(None)

    def assign_replicas_to_dirs(
        self, request: AssignReplicasToDirsRequest
    ) -> Decision[AssignReplicasToDirsResponse]:
        """A broker reports which of its replicas have lost records."""
        draft = self._draft()
        return draft.decision(lost_replicas.assign_replicas_to_dirs(draft, request))

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> Decision[AlterPartitionReassignmentsResponse]:
        """Begin or cancel reassignments."""
        draft = self._draft()
        return draft.decision(reassignments.alter_reassignments(draft, request))

    def list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest
    ) -> Decision[ListPartitionReassignmentsResponse]:
        """The reassignments in progress."""
        return Decision([], reassignments.list_reassignments(self.pending_image, request))

    # -- topics and settings -----------------------------------------------------------------------

    def create_topics(
        self, request: CreateTopicsRequest, now_ms: int = 0
    ) -> Decision[CreateTopicsResponse]:
        internal = asks_for_internal(request)
        if internal:
            request = internal_request(request, self._cluster_settings())
        elif wait_ms := self._creation_wait_ms(now_ms):
            return Decision([], topics_throttled(request, wait_ms))
        return self._created(
            create_topics(self.pending_image, request, self._policy(), internal=internal)
        )

    def create_partitions(
        self, request: CreatePartitionsRequest, now_ms: int = 0
    ) -> Decision[CreatePartitionsResponse]:
        if wait_ms := self._creation_wait_ms(now_ms):
            return Decision([], growth_throttled(request, wait_ms))
        limit = self._cluster_settings().max_broker_partitions
        stuck = self._sessions.stuck()
        return self._created(create_partitions(self.pending_image, request, limit, stuck))

    def _creation_wait_ms(self, now_ms: int) -> int:
        settings = self._cluster_settings()
        return self._creation_budget.wait_ms(
            settings.create_partitions_max_per_second, settings.create_partitions_max_burst, now_ms
        )

    def _created(self, decision: Decision[AnswerT]) -> Decision[AnswerT]:
        count = sum(isinstance(record, PartitionRecord) for record in decision.records)
        self._creation_budget.spend(count)
        return self._replayed(decision)

    def delete_topics(self, request: DeleteTopicsRequest) -> Decision[DeleteTopicsResponse]:
        return self._replayed(delete_topics(self.pending_image, request, self._policy()))

    def alter_configs(self, request: AlterConfigsRequest) -> Decision[AlterConfigsResponse]:
        draft = self._draft()
        return draft.decision(alter_configs.replace_configs(draft, self._settings, request))

    def incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest
    ) -> Decision[IncrementalAlterConfigsResponse]:
        draft = self._draft()
        return draft.decision(alter_configs.change_configs(draft, self._settings, request))

    def alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest
    ) -> Decision[AlterUserScramCredentialsResponse]:
        draft = self._draft()
        return draft.decision(alter_scram_credentials(draft, request))

    def add_initial_users(self, users: Sequence[UserScramCredentialRecord]) -> Decision[None]:
        """A new cluster begins with these."""
        draft = self._draft()
        draft.write_all(list(users))
        return draft.decision(None)

    def alter_client_quotas(
        self, request: AlterClientQuotasRequest
    ) -> Decision[AlterClientQuotasResponse]:
        draft = self._draft()
        return draft.decision(alter_client_quotas(draft, request))

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> Decision[AllocateProducerIdsResponse]:
        draft = self._draft()
        return draft.decision(producer_ids.allocate(draft, request))

    def update_features(
        self, request: UpdateFeaturesRequest, nodes: AllFeatures
    ) -> Decision[UpdateFeaturesResponse]:
        """Raise levels of features that all `nodes` support."""
        draft = self._draft()
        return draft.decision(update_features(draft, request, nodes))

    # -- access rules ------------------------------------------------------------------------------

    def create_acls(self, request: CreateAclsRequest) -> Decision[CreateAclsResponse]:
        draft = self._draft()
        new_ids = [self._new_uuid() for _ in request.creations]
        return draft.decision(acls.create_acls(draft, request, new_ids))

    def delete_acls(self, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
        draft = self._draft()
        return draft.decision(acls.delete_acls(draft, request))

    # -- delegation tokens -------------------------------------------------------------------------

    def create_delegation_token(
        self, request: CreateDelegationTokenRequest, requester: Principal
    ) -> Decision[CreateDelegationTokenResponse]:
        draft = self._draft()
        return draft.decision(self._tokens.create(draft, request, requester))

    def renew_delegation_token(
        self, request: RenewDelegationTokenRequest, requester: Principal
    ) -> Decision[RenewDelegationTokenResponse]:
        draft = self._draft()
        return draft.decision(self._tokens.renew(draft, request, requester))

    def expire_delegation_token(
        self, request: ExpireDelegationTokenRequest, requester: Principal
    ) -> Decision[ExpireDelegationTokenResponse]:
        draft = self._draft()
        return draft.decision(self._tokens.expire(draft, request, requester))

    # -- the decision ------------------------------------------------------------------------------

    def _draft(self) -> Draft:
        behind = self._sessions.behind()
        return Draft(self.pending_image, self._allows_unclean_election, self._min_isr, behind)

    def _replayed(self, decision: Decision[AnswerT]) -> Decision[AnswerT]:
        for record in decision.records:
            self.pending_image.replay(record)
        return decision

    def _policy(self) -> TopicPolicy:
        settings = self._cluster_settings()
        return TopicPolicy(
            self._settings.node_id,
            settings.num_partitions,
            TopicDefaults(self.pending_image, self._settings),
            settings.delete_topic_enable,
            self._new_uuid,
            settings.default_replication_factor,
            settings.max_broker_partitions,
            self._sessions.stuck(),
        )

    def _cluster_settings(self) -> ClusterSettings:
        return ClusterSettings(self._settings, self.pending_image)

    def _allows_unclean_election(self, topic: str) -> bool:
        return self._cluster_settings().unclean_leader_election_enable(topic)

    def _min_isr(self, topic: str) -> int:
        return self._cluster_settings().min_insync_replicas(topic)
