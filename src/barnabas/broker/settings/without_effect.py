"""Kafka's settings of a broker that have no effect here, with the reason.

A properties file written for Kafka has some of them, and none is worth refusing to start. They are
accepted, kept and described, with Kafka's types, defaults and bounds, because programs that
configure clusters set and compare them. A value that would turn off what is always on is refused.

Settings that protect data or say who may do what (`ssl.*`, `sasl.*`, `remote.*`, ...) are not among
them: whoever sets those relies on them (`barnabas.metadata.refused_settings`). How nodes prove
themselves to each other is the exception.
"""

from barnabas.metadata.config_values import ConfigDef, ConfigType

_BOOLEAN = ConfigType.BOOLEAN
_STRING = ConfigType.STRING
_INT = ConfigType.INT
_LONG = ConfigType.LONG
_DOUBLE = ConfigType.DOUBLE
_LIST = ConfigType.LIST

_CHANGEABLE = frozenset(
    {
        "background.threads",
        "group.coordinator.append.linger.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.threads",
        "metric.reporters",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "share.coordinator.append.linger.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "transaction.partition.verification.enable",
    }
)
"""Those that Kafka takes while a broker runs."""


def _because(why: str, *rows: tuple[str, ConfigType, str | None, float | None]) -> list[ConfigDef]:
    """Settings with the same reason: name, type, Kafka's default and lower bound."""
    return [
        ConfigDef(
            name,
            kind,
            default,
            f"No effect: {why}",
            low=low,
            dynamic=name in _CHANGEABLE,
            without_effect=why,
        )
        for name, kind, default, low in rows
    ]


def _always(
    name: str,
    kind: ConfigType,
    default: str,
    why: str,
    choices: tuple[str, ...],
    needs: tuple[str, ...] = (),
) -> ConfigDef:
    """A setting of which only the values that describe what a node does are accepted."""
    return ConfigDef(
        name,
        kind,
        default,
        f"No effect: {why}",
        choices=choices,
        needs=needs,
        dynamic=name in _CHANGEABLE,
        without_effect=why,
    )


BROKER_CONFIGS_WITHOUT_EFFECT = (
    *_because(
        "a node is one process with one event loop",
        ("background.threads", _INT, "10", 1),
        ("group.coordinator.background.threads", _INT, "2", 1),
        ("group.coordinator.threads", _INT, "4", 1),
        ("log.cleaner.threads", _INT, "1", 0),
        ("num.io.threads", _INT, "8", 1),
        ("num.network.threads", _INT, "3", 1),
        ("num.recovery.threads.per.data.dir", _INT, "2", 1),
        ("num.replica.fetchers", _INT, "1", 1),
        ("queued.max.requests", _INT, "500", 1),
        ("share.coordinator.threads", _INT, "1", 1),
    ),
    *_because(
        "a node has one log directory",
        ("alter.log.dirs.replication.quota.window.num", _INT, "11", 1),
        ("alter.log.dirs.replication.quota.window.size.seconds", _INT, "1", 1),
        ("log.dir.failure.timeout.ms", _LONG, "30000", 1),
        ("num.replica.alter.log.dirs.threads", _INT, None, None),
    ),
    *_because(
        "buffers and sockets are sized by the system",
        ("log.cleaner.io.buffer.load.factor", _DOUBLE, "0.9", None),
        ("log.cleaner.io.buffer.size", _INT, "524288", 0),
        ("offsets.load.buffer.size", _INT, "5242880", 1),
        ("replica.socket.receive.buffer.bytes", _INT, "65536", None),
        ("share.coordinator.load.buffer.size", _INT, "5242880", 1),
        ("socket.listen.backlog.size", _INT, "50", 1),
        ("socket.receive.buffer.bytes", _INT, "102400", None),
        ("socket.send.buffer.bytes", _INT, "102400", None),
        ("transaction.state.log.load.buffer.size", _INT, "5242880", 1),
    ),
    *_because(
        "requests between nodes have fixed timeouts, retries and sizes",
        ("add.partitions.to.txn.retry.backoff.max.ms", _INT, "100", 0),
        ("add.partitions.to.txn.retry.backoff.ms", _INT, "20", 1),
        ("controller.socket.timeout.ms", _INT, "30000", None),
        ("replica.fetch.backoff.ms", _INT, "1000", 0),
        ("replica.fetch.min.bytes", _INT, "1", None),
        ("replica.socket.timeout.ms", _INT, "30000", None),
        ("request.timeout.ms", _INT, "30000", None),
        ("socket.connection.setup.timeout.max.ms", _LONG, "30000", None),
        ("socket.connection.setup.timeout.ms", _LONG, "10000", None),
    ),
    *_because(
        "waiting requests are not collected in purgatories",
        ("delete.records.purgatory.purge.interval.requests", _INT, "1", None),
        ("fetch.purgatory.purge.interval.requests", _INT, "1000", None),
        ("producer.purgatory.purge.interval.requests", _INT, "1000", None),
        ("share.fetch.purgatory.purge.interval.requests", _INT, "1000", None),
    ),
    *_because(
        "nodes authenticate to each other with cluster.secret.file, on every listener",
        ("sasl.mechanism.controller.protocol", _STRING, None, None),
        ("sasl.mechanism.inter.broker.protocol", _STRING, None, None),
    ),
    *_because(
        "every node is a broker, and those in controller.quorum.voters are its controllers too",
        ("controller.listener.names", _LIST, None, None),
        ("process.roles", _LIST, None, None),
    ),
    *_because(
        "all listeners of a node open together",
        ("early.start.listeners", _LIST, None, None),
    ),
    *_because(
        "the metadata quorum has fixed timing",
        ("controller.quorum.append.linger.ms", _INT, "25", 0),
        ("controller.quorum.election.backoff.max.ms", _INT, "1000", 0),
        ("controller.quorum.election.timeout.ms", _INT, "1000", 0),
        ("controller.quorum.fetch.timeout.ms", _INT, "2000", 0),
        ("controller.quorum.request.timeout.ms", _INT, "2000", 0),
        ("controller.quorum.retry.backoff.ms", _INT, "20", 0),
        ("initial.broker.registration.timeout.ms", _INT, "60000", None),
        ("metadata.max.idle.interval.ms", _INT, "500", 0),
    ),
    *_because(
        "the metadata log has fixed sizes of batches, segments and snapshots",
        ("controller.quorum.fetch.max.bytes", _INT, "1048576", 1),
        ("controller.quorum.fetch.snapshot.max.bytes", _INT, "1048576", 1),
        ("metadata.log.max.record.bytes.between.snapshots", _LONG, "20971520", 1),
        ("metadata.log.max.snapshot.interval.ms", _LONG, "3600000", 0),
        ("metadata.log.segment.bytes", _INT, "1073741824", 8388608),
        ("metadata.log.segment.ms", _LONG, "604800000", None),
        ("metadata.max.retention.bytes", _LONG, "104857600", None),
        ("metadata.max.retention.ms", _LONG, "604800000", None),
    ),
    *_because(
        "coordinators write each change without a linger, in buffers of any size",
        ("group.coordinator.append.linger.ms", _INT, "-1", -1),
        ("group.coordinator.cached.buffer.max.bytes", _INT, "1048588", 524288),
        ("share.coordinator.append.linger.ms", _INT, "-1", -1),
        ("share.coordinator.cached.buffer.max.bytes", _INT, "1048588", 524288),
    ),
    *_because(
        "a response of DescribeTopicPartitions has at most 2000 partitions",
        ("max.request.partition.size.limit", _INT, "2000", 1),
    ),
    *_because(
        "there are no metrics reporters; metrics are served for Prometheus",
        ("controller.performance.sample.period.ms", _LONG, "60000", 100),
        ("kafka.metrics.polling.interval.secs", _INT, "10", 1),
        ("kafka.metrics.reporters", _LIST, "", None),
        ("metric.reporters", _LIST, "org.apache.kafka.common.metrics.JmxReporter", None),
        ("metrics.num.samples", _INT, "2", 1),
        ("metrics.recording.level", _STRING, "INFO", None),
        ("metrics.sample.window.ms", _LONG, "30000", 1),
    ),
    *_because(
        "simple is the only assignor of share groups",
        ("group.share.assignors", _LIST, "simple", None),
    ),
    *_because(
        "streams groups are not served",
        ("group.streams.assignment.interval.ms", _INT, "1000", 0),
        ("group.streams.heartbeat.interval.ms", _INT, "5000", 1),
        ("group.streams.initial.rebalance.delay.ms", _INT, "3000", 0),
        ("group.streams.max.assignment.interval.ms", _INT, "15000", 0),
        ("group.streams.max.heartbeat.interval.ms", _INT, "15000", 1),
        ("group.streams.max.session.timeout.ms", _INT, "60000", 1),
        ("group.streams.max.size", _INT, "2147483647", 1),
        ("group.streams.max.standby.replicas", _INT, "2", 0),
        ("group.streams.min.assignment.interval.ms", _INT, "0", 0),
        ("group.streams.min.heartbeat.interval.ms", _INT, "5000", 1),
        ("group.streams.min.session.timeout.ms", _INT, "45000", 1),
        ("group.streams.num.standby.replicas", _INT, "0", 0),
        ("group.streams.session.timeout.ms", _INT, "45000", 1),
    ),
    *_because(
        "there is one message format, v2",
        ("log.message.downconversion.enable", _BOOLEAN, "true", None),
        ("log.message.format.version", _STRING, None, None),
    ),
    *_because(
        "metadata.version, which `barnabas cluster upgrade` raises, takes its place",
        ("inter.broker.protocol.version", _STRING, None, None),
    ),
    *_because(
        "there is no tiered storage",
        ("follower.fetch.last.tiered.offset.enable", _BOOLEAN, "false", None),
    ),
    *_because(
        "segments are rolled at segment.ms exactly",
        ("log.roll.jitter.hours", _INT, "0", 0),
    ),
    *_because(
        "it is done when it is due",
        ("log.flush.scheduler.interval.ms", _LONG, "9223372036854775807", None),
        ("log.flush.start.offset.checkpoint.interval.ms", _INT, "60000", 0),
        ("log.initial.task.delay.ms", _LONG, "30000", 0),
        ("producer.id.expiration.check.interval.ms", _INT, "600000", 1),
        ("transaction.abort.timed.out.transaction.cleanup.interval.ms", _INT, "10000", 1),
        ("transaction.remove.expired.transaction.cleanup.interval.ms", _INT, "3600000", 1),
    ),
    _always(
        "group.coordinator.rebalance.protocols",
        _LIST,
        "classic,consumer,streams",
        "the classic, consumer and share protocols are always served",
        choices=("classic", "consumer", "share", "streams"),
        needs=("classic", "consumer"),
    ),
    _always("log.cleaner.enable", _BOOLEAN, "true", "compaction is always on", choices=("true",)),
    _always(
        "transaction.partition.verification.enable",
        _BOOLEAN,
        "true",
        "transactions are always verified",
        choices=("true",),
    ),
    _always(
        "unstable.api.versions.enable",
        _BOOLEAN,
        "false",
        "there are no unstable versions",
        choices=("false",),
    ),
    _always(
        "unstable.feature.versions.enable",
        _BOOLEAN,
        "false",
        "there are no unstable versions",
        choices=("false",),
    ),
)
"""Each in one place: `make docs` writes them into the table of docs/compatibility.md by reason."""
