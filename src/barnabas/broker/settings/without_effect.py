"""Kafka's settings of a broker that have no effect here, with the reason that the log gives.

A properties file written for Kafka has some of them, and none is worth refusing to start. Settings
that protect data or say who may do what (`ssl.*`, `sasl.*`, `remote.*`, ...) are not among them:
whoever sets those relies on them. How nodes prove themselves to each other is the exception.
"""

_ONE_LOOP = "a node is one process with one event loop"
_BUFFERS = "buffers and sockets are sized by the system"
_NO_PURGATORY = "waiting requests are not collected in purgatories"
_PEERS = "nodes authenticate to each other with cluster.secret.file, on every listener"
_EVERY_NODE = "every node is a broker, and the voters are its controllers"
_QUORUM = "the metadata quorum has fixed timing"
_STREAMS = "streams groups are not served"
_SHARE_COORDINATOR = "the share coordinator works without it"
_METRICS = "there are no metrics reporters"
_FORMAT = "there is one message format, v2"
_EXACT_ROLL = "segments are rolled at segment.ms exactly"
_ALWAYS = "it is always on"
_CLEANUP = "it is done when it is due"

_NAMES_BY_REASON = {
    _ONE_LOOP: (
        "background.threads",
        "group.coordinator.background.threads",
        "group.coordinator.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "num.replica.fetchers",
        "queued.max.requests",
    ),
    _BUFFERS: (
        "controller.socket.timeout.ms",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "offsets.load.buffer.size",
        "replica.socket.receive.buffer.bytes",
        "replica.socket.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "socket.listen.backlog.size",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "transaction.state.log.load.buffer.size",
    ),
    _NO_PURGATORY: (
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "producer.purgatory.purge.interval.requests",
        "share.fetch.purgatory.purge.interval.requests",
    ),
    _PEERS: (
        "sasl.mechanism.controller.protocol",
        "sasl.mechanism.inter.broker.protocol",
    ),
    _EVERY_NODE: (
        "controller.listener.names",
        "process.roles",
    ),
    _QUORUM: (
        "controller.quorum.append.linger.ms",
        "controller.quorum.election.backoff.max.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms",
        "controller.quorum.retry.backoff.ms",
        "initial.broker.registration.timeout.ms",
        "metadata.log.max.record.bytes.between.snapshots",
        "metadata.log.max.snapshot.interval.ms",
        "metadata.log.segment.bytes",
        "metadata.log.segment.ms",
        "metadata.max.idle.interval.ms",
        "metadata.max.retention.bytes",
        "metadata.max.retention.ms",
    ),
    _METRICS: (
        "kafka.metrics.polling.interval.secs",
        "kafka.metrics.reporters",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
    ),
    _ALWAYS: (
        "group.coordinator.rebalance.protocols",
        "log.cleaner.enable",
        "transaction.partition.verification.enable",
    ),
    _FORMAT: (
        "inter.broker.protocol.version",
        "log.message.downconversion.enable",
        "log.message.format.version",
    ),
    _EXACT_ROLL: ("log.roll.jitter.hours",),
    _CLEANUP: (
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "log.dir.failure.timeout.ms",
        "log.flush.scheduler.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.flusher.flush.start.offset.checkpoint.interval.ms",
        "offsets.retention.check.interval.ms",
        "replica.fetch.backoff.ms",
        "replica.fetch.min.bytes",
        "request.timeout.ms",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "transaction.remove.expired.transaction.cleanup.interval.ms",
    ),
}

_PREFIXES = {
    "group.share.": _SHARE_COORDINATOR,
    "group.streams.": _STREAMS,
    "share.coordinator.": _SHARE_COORDINATOR,
}

_SECURITY = (
    "authorizer.",
    "delegation.token.",
    "listener.name.",
    "principal.builder.class",
    "sasl.",
    "security.",
    "ssl.",
)
"""Prefixes of settings that are refused because they would give a false sense of safety."""

NAMES_WITHOUT_EFFECT = {name: why for why, names in _NAMES_BY_REASON.items() for name in names}


def why_without_effect(name: str) -> str | None:
    """Why Kafka's setting `name` has no effect; None if it is not such a setting."""
    for prefix, why in _PREFIXES.items():
        if name.startswith(prefix):
            return why
    return NAMES_WITHOUT_EFFECT.get(name)


def is_about_security(name: str) -> bool:
    """Whether Kafka's setting `name` says who may connect, or do what."""
    return name.startswith(_SECURITY)
