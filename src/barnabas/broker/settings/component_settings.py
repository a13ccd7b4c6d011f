"""The settings of each component of a broker, typed: the only place where they are read by name.

A component gets the dataclass that it needs. Settings that can change while the broker runs are
read from `BrokerConfig` when they are needed: it holds new dataclasses after each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from barnabas.metadata.config_values import ConfigValue

_NAME = "setting"

SettingsT = TypeVar("SettingsT")


def _setting(name: str, *, shown: bool = True) -> Any:
    """`shown` is False for secrets."""
    return field(metadata={_NAME: name}, repr=shown)


def setting_names(kind: type[Any]) -> dict[str, str]:
    """The name of the setting behind each field."""
    return {each.name: each.metadata[_NAME] for each in fields(kind)}


def read_settings(kind: type[SettingsT], values: Mapping[str, ConfigValue]) -> SettingsT:
    """The settings of one component from all values."""
    return kind(**{name: values[setting] for name, setting in setting_names(kind).items()})


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Where the node is, and how others reach it."""

    node_id: int = _setting("node.id")
    listeners: str = _setting("listeners")
    advertised_listeners: str | None = _setting("advertised.listeners")
    listener_protocols: str | None = _setting("listener.security.protocol.map")
    inter_broker_listener: str | None = _setting("inter.broker.listener.name")
    inter_broker_protocol: str | None = _setting("security.inter.broker.protocol")
    rack: str | None = _setting("broker.rack")
    log_dirs: str = _setting("log.dirs")
    quorum_voters: str | None = _setting("controller.quorum.voters")
    cluster_secret_file: str | None = _setting("cluster.secret.file")
    initial_users_file: str | None = _setting("initial.users.file")


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """Who may do what."""

    class_name: str | None = _setting("authorizer.class.name")
    super_users: str | None = _setting("super.users")
    allow_if_no_acl_found: bool = _setting("allow.everyone.if.no.acl.found")


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """TLS of one listener, and of connections to other nodes by it."""

    keystore_location: str | None = _setting("ssl.keystore.location")
    certificate_chain: str | None = _setting("ssl.keystore.certificate.chain")
    private_key: str | None = _setting("ssl.keystore.key")
    key_password: str | None = _setting("ssl.key.password")
    truststore_location: str | None = _setting("ssl.truststore.location")
    truststore_certificates: str | None = _setting("ssl.truststore.certificates")
    crl_location: str | None = _setting("ssl.crl.location")
    enabled_protocols: str = _setting("ssl.enabled.protocols")
    client_auth: str = _setting("ssl.client.auth")
    principal_mapping_rules: str = _setting("ssl.principal.mapping.rules")
    endpoint_identification: str = _setting("ssl.endpoint.identification.algorithm")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Limits on connections and on the memory they hold."""

    max_request_bytes: int = _setting("socket.request.max.bytes")
    max_connections: int = _setting("max.connections")
    max_connections_per_ip: int = _setting("max.connections.per.ip")
    max_queued_request_bytes: int = _setting("queued.max.request.bytes")
    max_queued_response_bytes: int = _setting("queued.max.response.bytes")
    max_idle_ms: int = _setting("connections.max.idle.ms")
    failed_authentication_delay_ms: int = _setting("connection.failed.authentication.delay.ms")


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """How clients sign in on a listener."""

    enabled_mechanisms: str = _setting("sasl.enabled.mechanisms")
    plain_jaas_config: str | None = _setting("plain.sasl.jaas.config", shown=False)
    max_receive_bytes: int = _setting("sasl.server.max.receive.size")
    max_reauth_ms: int = _setting("connections.max.reauth.ms")


@dataclass(frozen=True, slots=True)
class OauthSettings:
    """Which tokens of OAUTHBEARER a listener accepts."""

    jaas_config: str | None = _setting("oauthbearer.sasl.jaas.config", shown=False)
    jwks_url: str | None = _setting("sasl.oauthbearer.jwks.endpoint.url")
    jwks_refresh_ms: int = _setting("sasl.oauthbearer.jwks.endpoint.refresh.ms")
    issuer: str | None = _setting("sasl.oauthbearer.expected.issuer")
    audience: str | None = _setting("sasl.oauthbearer.expected.audience")
    user_claim: str = _setting("sasl.oauthbearer.sub.claim.name")
    scope_claim: str = _setting("sasl.oauthbearer.scope.claim.name")
    clock_skew_s: int = _setting("sasl.oauthbearer.clock.skew.seconds")


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Delegation tokens: how long they live, and what their HMACs are made with."""

    secret_key: str | None = _setting("delegation.token.secret.key", shown=False)
    max_lifetime_ms: int = _setting("delegation.token.max.lifetime.ms")
    expiry_time_ms: int = _setting("delegation.token.expiry.time.ms")
    expiry_check_interval_ms: int = _setting("delegation.token.expiry.check.interval.ms")


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """The windows over which rates are measured."""

    window_num: int = _setting("quota.window.num")
    window_size_seconds: int = _setting("quota.window.size.seconds")
    controller_window_num: int = _setting("controller.quota.window.num")
    controller_window_size_seconds: int = _setting("controller.quota.window.size.seconds")
    replication_window_num: int = _setting("replication.quota.window.num")
    replication_window_size_seconds: int = _setting("replication.quota.window.size.seconds")


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Serving fetches."""

    max_bytes: int = _setting("fetch.max.bytes")
    max_sessions: int = _setting("max.incremental.fetch.session.cache.slots")
    replica_selector_class: str | None = _setting("replica.selector.class")


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """Keeping replicas in sync."""

    lag_time_max_ms: int = _setting("replica.lag.time.max.ms")
    fetch_response_max_bytes: int = _setting("replica.fetch.response.max.bytes")
    fetch_max_bytes: int = _setting("replica.fetch.max.bytes")
    fetch_wait_max_ms: int = _setting("replica.fetch.wait.max.ms")
    checkpoint_interval_ms: int = _setting("replica.high.watermark.checkpoint.interval.ms")
    max_decompressed_batch_bytes: int = _setting("max.decompressed.batch.bytes")
    leader_throttled_rate: int = _setting("leader.replication.throttled.rate")
    follower_throttled_rate: int = _setting("follower.replication.throttled.rate")


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Compaction."""

    backoff_ms: int = _setting("log.cleaner.backoff.ms")
    dedupe_buffer_bytes: int = _setting("log.cleaner.dedupe.buffer.size")
    max_bytes_per_second: float = _setting("log.cleaner.io.max.bytes.per.second")


@dataclass(frozen=True, slots=True)
class ScrubberSettings:
    """Reading cold segments to find rot."""

    interval_ms: int = _setting("log.scrub.interval.ms")
    bytes_per_second: int = _setting("log.scrub.bytes.per.second")


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """Periodic work on logs."""

    retention_check_interval_ms: int = _setting("log.retention.check.interval.ms")
    flush_checkpoint_interval_ms: int = _setting("log.flush.offset.checkpoint.interval.ms")
    set_aside_retention_ms: int = _setting("log.set.aside.retention.ms")
    set_aside_retention_bytes: int = _setting("log.set.aside.retention.bytes")


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """What the node tells its operator."""

    metrics_listeners: str | None = _setting("metrics.listeners")
    metrics_max_partitions: int = _setting("metrics.max.partitions")
    telemetry_max_bytes: int = _setting("telemetry.max.bytes")
    log_format: str = _setting("log.format")
    log_file: str | None = _setting("log.file")
    log_file_max_bytes: int = _setting("log.file.max.bytes")
    log_file_max_count: int = _setting("log.file.max.count")
    request_log_clients: str = _setting("request.log.clients")
    request_log_slow_ms: int = _setting("request.log.slow.ms")


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Consumer groups and their committed offsets."""

    min_session_timeout_ms: int = _setting("group.min.session.timeout.ms")
    max_session_timeout_ms: int = _setting("group.max.session.timeout.ms")
    initial_rebalance_delay_ms: int = _setting("group.initial.rebalance.delay.ms")
    disconnect_grace_ms: int = _setting("group.disconnect.grace.ms")
    max_size: int = _setting("group.max.size")
    metadata_max_bytes: int = _setting("group.metadata.max.bytes")
    offset_metadata_max_bytes: int = _setting("offset.metadata.max.bytes")
    offsets_retention_minutes: int = _setting("offsets.retention.minutes")
    offsets_retention_check_interval_ms: int = _setting("offsets.retention.check.interval.ms")
    commit_timeout_ms: int = _setting("offsets.commit.timeout.ms")


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """Groups of the consumer protocol; some can be set for each group."""

    assignors: str = _setting("group.consumer.assignors")
    max_size: int = _setting("group.consumer.max.size")
    migration_policy: str = _setting("group.consumer.migration.policy")
    regex_refresh_interval_ms: int = _setting("group.consumer.regex.refresh.interval.ms")
    session_timeout_ms: int = _setting("group.consumer.session.timeout.ms")
    heartbeat_interval_ms: int = _setting("group.consumer.heartbeat.interval.ms")
    assignment_interval_ms: int = _setting("group.consumer.assignment.interval.ms")
    min_session_timeout_ms: int = _setting("group.consumer.min.session.timeout.ms")
    max_session_timeout_ms: int = _setting("group.consumer.max.session.timeout.ms")
    min_heartbeat_interval_ms: int = _setting("group.consumer.min.heartbeat.interval.ms")
    max_heartbeat_interval_ms: int = _setting("group.consumer.max.heartbeat.interval.ms")
    min_assignment_interval_ms: int = _setting("group.consumer.min.assignment.interval.ms")
    max_assignment_interval_ms: int = _setting("group.consumer.max.assignment.interval.ms")


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Transactions."""

    max_timeout_ms: int = _setting("transaction.max.timeout.ms")
    id_expiration_ms: int = _setting("transactional.id.expiration.ms")
    two_phase_commit_enable: bool = _setting("transaction.two.phase.commit.enable")
    max_ids_per_partition: int = _setting("transactional.ids.max.per.partition")
    max_producer_ids_per_second: int = _setting("producer.ids.max.per.second")


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Share groups, and the coordinator of their states."""

    record_lock_duration_ms: int = _setting("group.share.record.lock.duration.ms")
    min_record_lock_duration_ms: int = _setting("group.share.min.record.lock.duration.ms")
    max_record_lock_duration_ms: int = _setting("group.share.max.record.lock.duration.ms")
    delivery_count_limit: int = _setting("group.share.delivery.count.limit")
    min_delivery_count_limit: int = _setting("group.share.min.delivery.count.limit")
    max_delivery_count_limit: int = _setting("group.share.max.delivery.count.limit")
    max_record_locks: int = _setting("group.share.partition.max.record.locks")
    min_max_record_locks: int = _setting("group.share.min.partition.max.record.locks")
    max_max_record_locks: int = _setting("group.share.max.partition.max.record.locks")
    max_sessions: int = _setting("group.share.max.share.sessions")
    max_size: int = _setting("group.share.max.size")
    session_timeout_ms: int = _setting("group.share.session.timeout.ms")
    min_session_timeout_ms: int = _setting("group.share.min.session.timeout.ms")
    max_session_timeout_ms: int = _setting("group.share.max.session.timeout.ms")
    heartbeat_interval_ms: int = _setting("group.share.heartbeat.interval.ms")
    min_heartbeat_interval_ms: int = _setting("group.share.min.heartbeat.interval.ms")
    max_heartbeat_interval_ms: int = _setting("group.share.max.heartbeat.interval.ms")
    disconnect_grace_ms: int = _setting("group.share.disconnect.grace.ms")
    assignment_interval_ms: int = _setting("group.share.assignment.interval.ms")
    min_assignment_interval_ms: int = _setting("group.share.min.assignment.interval.ms")
    max_assignment_interval_ms: int = _setting("group.share.max.assignment.interval.ms")
    updates_per_snapshot: int = _setting("share.coordinator.snapshot.update.records.per.snapshot")
    write_timeout_ms: int = _setting("share.coordinator.write.timeout.ms")


@dataclass(frozen=True, slots=True)
class TopicCreationSettings:
    """Topics that are created on demand."""

    is_automatic: bool = _setting("auto.create.topics.enable")
    max_per_request: int = _setting("auto.create.topics.max.per.request")
    max_per_second: int = _setting("auto.create.topics.max.per.second")
    num_partitions: int = _setting("num.partitions")


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """Being a member of the cluster, and leaving it."""

    heartbeat_interval_ms: int = _setting("broker.heartbeat.interval.ms")
    session_timeout_ms: int = _setting("broker.session.timeout.ms")
    controlled_shutdown_enable: bool = _setting("controlled.shutdown.enable")
    controlled_shutdown_max_wait_ms: int = _setting("controlled.shutdown.max.wait.ms")
    auto_leader_rebalance_enable: bool = _setting("auto.leader.rebalance.enable")
    imbalance_check_interval_seconds: int = _setting("leader.imbalance.check.interval.seconds")
    imbalance_percentage: int = _setting("leader.imbalance.per.broker.percentage")
