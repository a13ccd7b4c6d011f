"""Every setting a broker has. Names are Kafka's where Kafka has the setting."""

from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.metadata.topic_configs import TOPIC_CONFIGS

_BOOLEAN = ConfigType.BOOLEAN
_STRING = ConfigType.STRING
_INT = ConfigType.INT
_LONG = ConfigType.LONG

_OWN = (
    ConfigDef("node.id", _INT, "1", "The number of this node", low=0),
    ConfigDef(
        "listeners",
        _STRING,
        "localhost:9092",
        "Where to listen, HOST:PORT; port 0 takes a free one, host 0.0.0.0 listens everywhere",
    ),
    ConfigDef(
        "advertised.listeners",
        _STRING,
        None,
        "The HOST:PORT that clients are told to connect to. Default: the listener's own; with "
        "a wildcard host, the address at which each client has reached the broker",
    ),
    ConfigDef("log.dirs", _STRING, "barnabas-data", "The directory that holds all data"),
    ConfigDef("broker.rack", _STRING, None, "The rack this node stands in"),
    ConfigDef(
        "controller.quorum.voters",
        _STRING,
        None,
        "The nodes that elect the controller and keep the cluster's metadata, ID@HOST:PORT,...; "
        "the same on every node. Default: this node alone",
    ),
    ConfigDef(
        "cluster.secret.file",
        _STRING,
        None,
        "The file with the secret that the nodes of a cluster prove themselves with, the same on "
        "every node. Default: cluster.secret in the data directory, which a node that starts as a "
        "cluster by itself makes",
    ),
    ConfigDef(
        "broker.session.timeout.ms",
        _INT,
        "3000",
        "A node that the controller has not heard of for so long is fenced: it leads nothing "
        "until it is back",
        low=100,
    ),
    ConfigDef(
        "broker.heartbeat.interval.ms",
        _INT,
        "500",
        "How often a node tells the controller that it is there",
        low=10,
    ),
    ConfigDef(
        "replica.lag.time.max.ms",
        _LONG,
        "10000",
        "A follower that has not caught up with its leader for so long leaves the in-sync set",
        low=1,
    ),
    ConfigDef(
        "replica.fetch.max.bytes",
        _INT,
        "1048576",
        "The most a follower fetches of one partition at a time, but for one batch that is larger",
        low=1024,
    ),
    ConfigDef(
        "replica.fetch.response.max.bytes",
        _INT,
        "10485760",
        "The most a follower fetches at a time, all partitions together",
        low=1024,
    ),
    ConfigDef(
        "replica.fetch.wait.max.ms",
        _INT,
        "500",
        "How long a leader may hold a follower's fetch back while there is nothing new",
        low=1,
    ),
    ConfigDef(
        "default.replication.factor",
        _INT,
        "-1",
        "Replicas of a topic that is created without a number; -1: 3, or as many as there are "
        "brokers",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "offsets.topic.replication.factor",
        _INT,
        "-1",
        "Replicas of the topic that keeps the groups' offsets; -1: 3, or as many as there are "
        "brokers when it is created",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "auto.leader.rebalance.enable",
        _BOOLEAN,
        "true",
        "Whether leadership goes back to the preferred replicas by itself",
    ),
    ConfigDef(
        "leader.imbalance.check.interval.seconds",
        _LONG,
        "300",
        "How often leader imbalance is checked",
        low=1,
    ),
    ConfigDef(
        "leader.imbalance.per.broker.percentage",
        _INT,
        "10",
        "Leader imbalance of a node that is tolerated: the percentage of the partitions that it "
        "should lead and does not. Above it, leadership goes back to the node",
        low=0,
        high=100,
    ),
    ConfigDef(
        "controlled.shutdown.enable",
        _BOOLEAN,
        "true",
        "Whether a node that is told to stop hands its leadership over first",
    ),
    ConfigDef(
        "controlled.shutdown.max.wait.ms",
        _INT,
        "5000",
        "How long it tries to, before it stops all the same",
        low=0,
    ),
    ConfigDef(
        "replica.selector.class",
        _STRING,
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "Whom a consumer is sent to: an in-sync replica in its own rack if there is one, or "
        "always the leader",
        choices=(
            "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            "org.apache.kafka.common.replica.LeaderSelector",
        ),
    ),
    ConfigDef(
        "auto.create.topics.enable",
        _BOOLEAN,
        "true",
        "Whether a topic that a client asks for by name comes into being",
        dynamic=True,
    ),
    ConfigDef(
        "auto.create.topics.max.per.request",
        _INT,
        "100",
        "Topics that one Metadata request has created; clients ask again for the others",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "auto.create.topics.max.per.second",
        _INT,
        "100",
        "Topics that are created each second, by this node, because clients asked for them; "
        "clients ask again for the others",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "create.partitions.max.per.second",
        _INT,
        "1000",
        "Partitions that the cluster creates per second, averaged; requests beyond it are refused "
        "with THROTTLING_QUOTA_EXCEEDED, which clients retry",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "create.partitions.max.burst",
        _INT,
        "20000",
        "Partitions that may be created at once before create.partitions.max.per.second counts",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "max.broker.partitions",
        _INT,
        "50000",
        "Replicas that each broker may have; topics that would need more are refused",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "delete.topic.enable", _BOOLEAN, "true", "Whether topics can be deleted", dynamic=True
    ),
    ConfigDef(
        "num.partitions",
        _INT,
        "1",
        "Partitions of a topic that is created without a number",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "socket.request.max.bytes", _INT, "104857600", "The largest request", low=1024, dynamic=True
    ),
    ConfigDef(
        "queued.max.request.bytes",
        _LONG,
        "536870912",
        "Memory for requests that are still arriving, all connections together; beyond it, "
        "connections are closed that have held the most for the longest",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "queued.max.response.bytes",
        _LONG,
        "536870912",
        "Memory for answers that clients have not read yet, all connections together; as it fills, "
        "fetches get smaller answers, down to one batch; beyond it, connections are closed that "
        "have held the most for the longest",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "fetch.max.bytes",
        _INT,
        "8388608",
        "The most a single fetch answers, but for one batch that is larger",
        low=1024,
        dynamic=True,
    ),
    ConfigDef("max.connections", _INT, "10000", "Connections at one time", low=1, dynamic=True),
    ConfigDef(
        "max.connections.per.ip",
        _INT,
        "2147483647",
        "Connections at one time from one address",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "connections.max.idle.ms",
        _LONG,
        "600000",
        "A connection that sends nothing for so long is closed",
        low=1000,
        dynamic=True,
    ),
    ConfigDef(
        "max.incremental.fetch.session.cache.slots",
        _INT,
        "1000",
        "Incremental fetch sessions at one time",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "max.decompressed.batch.bytes",
        _INT,
        "33554432",
        "A compressed batch that unpacks to more than this is refused",
        low=1048576,
        high=268435456,  # what compaction is ready to unpack
        dynamic=True,
    ),
    ConfigDef(
        "log.retention.check.interval.ms",
        _LONG,
        "300000",
        "How often old segments are looked for",
        low=1,
    ),
    ConfigDef(
        "log.cleaner.backoff.ms",
        _LONG,
        "15000",
        "How often compaction looks for work",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "log.cleaner.dedupe.buffer.size",
        _LONG,
        "134217728",
        "Memory for the keys of a log that is being compacted, 21 bytes each; a log with more of "
        "them takes several passes",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "log.cleaner.io.max.bytes.per.second",
        _LONG,
        "67108864",
        "The most that compaction reads and writes a second, both together; 0: no limit",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.flush.offset.checkpoint.interval.ms",
        _INT,
        "60000",
        "How often the state that shortens recovery is written",
        low=1,
    ),
    ConfigDef(
        "replica.high.watermark.checkpoint.interval.ms",
        _LONG,
        "1000",
        "How often the high watermarks are written down, with which the next start compares what "
        "is on the disk",
        low=1,
    ),
    ConfigDef(
        "log.scrub.bytes.per.second",
        _LONG,
        "1048576",
        "How fast stored segments are read to find damage before the records are needed; 0: never",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.scrub.interval.ms",
        _LONG,
        "604800000",
        "How long after a segment was looked through that is done again",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "log.set.aside.retention.ms",
        _LONG,
        "604800000",
        "How long the directory set-aside keeps what was cut off or taken out of a log",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.set.aside.retention.bytes",
        _LONG,
        "10737418240",
        "Size of the directory set-aside beyond which its oldest entries are removed; -1: no limit",
        low=-1,
        dynamic=True,
    ),
    ConfigDef(
        "producer.id.expiration.ms",
        _INT,
        "86400000",
        "How long a silent producer's last batches are remembered",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "offsets.topic.num.partitions",
        _INT,
        "50",
        "Partitions of the topic that keeps the groups' offsets, fixed once it exists",
        low=1,
    ),
    ConfigDef(
        "offsets.topic.segment.bytes",
        _INT,
        "2097152",
        "Segment size of that topic; small, so that it is compacted often and loads fast",
        low=1024,
    ),
    ConfigDef(
        "transaction.state.log.num.partitions",
        _INT,
        "50",
        "Partitions of the topic that keeps the transactions, fixed once it exists",
        low=1,
    ),
    ConfigDef(
        "transaction.state.log.segment.bytes",
        _INT,
        "2097152",
        "Segment size of that topic; small, so that it is compacted often and loads fast",
        low=1024,
    ),
    ConfigDef(
        "transaction.state.log.replication.factor",
        _INT,
        "-1",
        "Replicas of the topic that keeps the transactions; -1: 3, or as many as there are "
        "brokers when it is created",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "transaction.max.timeout.ms",
        _INT,
        "900000",
        "The longest time that a producer may ask for its transactions; one that takes longer "
        "than its producer has asked for is aborted",
        low=1,
    ),
    ConfigDef(
        "transaction.two.phase.commit.enable",
        _BOOLEAN,
        "false",
        "Whether producers may have transactions without a timeout, whose end somebody else "
        "decides; one that is left alone holds up readers of committed records until it is fenced",
        dynamic=True,
    ),
    ConfigDef(
        "transactional.id.expiration.ms",
        _INT,
        "604800000",
        "How long a transactional id that nobody uses is remembered",
        low=1,
    ),
    ConfigDef(
        "offsets.retention.minutes",
        _INT,
        "10080",
        "How long the offsets of an empty group are kept",
        low=1,
    ),
    ConfigDef(
        "offsets.commit.timeout.ms",
        _INT,
        "5000",
        "How long a commit of offsets waits to be replicated before its client is told to retry",
        low=1,
    ),
    ConfigDef(
        "offset.metadata.max.bytes",
        _INT,
        "4096",
        "The longest text that may go with a committed offset",
        low=0,
    ),
    ConfigDef("group.min.session.timeout.ms", _INT, "6000", "The shortest session", low=1),
    ConfigDef("group.max.session.timeout.ms", _INT, "1800000", "The longest session", low=1),
    ConfigDef(
        "group.initial.rebalance.delay.ms",
        _INT,
        "100",
        "How long the first members of an empty group wait for others",
        low=0,
    ),
    ConfigDef("group.max.size", _INT, "2147483647", "Members one group may have", low=1),
    ConfigDef(
        "group.metadata.max.bytes",
        _LONG,
        "134217728",
        "Memory for the groups that a node coordinates: their members, assignments and offsets; "
        "beyond it, joins are refused with GROUP_MAX_SIZE_REACHED and commits of new offsets with "
        "INVALID_COMMIT_OFFSET_SIZE",
        low=65536,
    ),
)


def _default_of_topics(config: ConfigDef) -> ConfigDef:
    """The broker's setting that gives a topic's setting its default."""
    assert config.synonym is not None
    return ConfigDef(
        config.synonym,
        config.type,
        config.default,
        f"Default of the topics' {config.name}: {config.doc[0].lower()}{config.doc[1:]}",
        config.low,
        config.high,
        config.choices,
        dynamic=True,
        without_effect=config.without_effect,
    )


_THROTTLES = tuple(
    ConfigDef(
        name,
        _LONG,
        "9223372036854775807",
        "No effect: moves of replicas are not throttled",
        low=0,
        dynamic=True,
        without_effect="moves of replicas are not throttled",
    )
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)
"""Kafka's own tool sets them for a move, and takes them back after it."""

_DEFAULTS_OF_TOPICS = tuple(
    _default_of_topics(config) for config in TOPIC_CONFIGS.values() if config.synonym is not None
)


BROKER_CONFIGS: dict[str, ConfigDef] = {
    config.name: config
    for config in sorted((*_OWN, *_THROTTLES, *_DEFAULTS_OF_TOPICS), key=lambda config: config.name)
}
