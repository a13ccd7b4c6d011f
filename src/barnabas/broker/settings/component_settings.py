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


def _setting(name: str) -> Any:
    return field(metadata={_NAME: name})


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
    rack: str | None = _setting("broker.rack")
    log_dirs: str = _setting("log.dirs")
    quorum_voters: str | None = _setting("controller.quorum.voters")
    cluster_secret_file: str | None = _setting("cluster.secret.file")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Limits on connections and on the memory they hold."""

    max_request_bytes: int = _setting("socket.request.max.bytes")
    max_connections: int = _setting("max.connections")
    max_connections_per_ip: int = _setting("max.connections.per.ip")
    max_queued_request_bytes: int = _setting("queued.max.request.bytes")
    max_queued_response_bytes: int = _setting("queued.max.response.bytes")
    max_idle_ms: int = _setting("connections.max.idle.ms")


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


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Compaction."""

    backoff_ms: int = _setting("log.cleaner.backoff.ms")
    dedupe_buffer_bytes: int = _setting("log.cleaner.dedupe.buffer.size")
    max_bytes_per_second: int = _setting("log.cleaner.io.max.bytes.per.second")


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
class GroupSettings:
    """Consumer groups and their committed offsets."""

    min_session_timeout_ms: int = _setting("group.min.session.timeout.ms")
    max_session_timeout_ms: int = _setting("group.max.session.timeout.ms")
    initial_rebalance_delay_ms: int = _setting("group.initial.rebalance.delay.ms")
    max_size: int = _setting("group.max.size")
    metadata_max_bytes: int = _setting("group.metadata.max.bytes")
    offset_metadata_max_bytes: int = _setting("offset.metadata.max.bytes")
    offsets_retention_minutes: int = _setting("offsets.retention.minutes")
    commit_timeout_ms: int = _setting("offsets.commit.timeout.ms")


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Transactions."""

    max_timeout_ms: int = _setting("transaction.max.timeout.ms")
    id_expiration_ms: int = _setting("transactional.id.expiration.ms")
    two_phase_commit_enable: bool = _setting("transaction.two.phase.commit.enable")
    max_ids_per_partition: int = _setting("transactional.ids.max.per.partition")
    max_producer_ids_per_second: int = _setting("producer.ids.max.per.second")


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
