"""Every setting a broker has. Names are Kafka's where Kafka has the setting."""

from barnabas.broker.settings.consumer_group_definitions import CONSUMER_GROUP_CONFIGS
from barnabas.broker.settings.monitoring_definitions import MONITORING_CONFIGS
from barnabas.broker.settings.sasl_definitions import SASL_CONFIGS
from barnabas.broker.settings.share_definitions import SHARE_CONFIGS
from barnabas.broker.settings.tls_definitions import TLS_CONFIGS
from barnabas.broker.settings.token_definitions import TOKEN_CONFIGS
from barnabas.broker.settings.without_effect import BROKER_CONFIGS_WITHOUT_EFFECT
from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.wire.endpoint import SecurityProtocol

_BOOLEAN = ConfigType.BOOLEAN
_STRING = ConfigType.STRING
_INT = ConfigType.INT
_LONG = ConfigType.LONG

_OWN = (
    ConfigDef("node.id", _INT, "1", "Node id", low=0),
    ConfigDef(
        "listeners",
        _STRING,
        "localhost:9092",
        "Addresses to listen on, HOST:PORT or NAME://HOST:PORT,...; port 0 takes a free port, host "
        "0.0.0.0 all addresses",
    ),
    ConfigDef(
        "advertised.listeners",
        _STRING,
        None,
        "Addresses that clients connect to, HOST:PORT or NAME://HOST:PORT,... Default: the "
        "listeners; with a wildcard host, the address at which each client has reached the broker",
    ),
    ConfigDef(
        "listener.security.protocol.map",
        _STRING,
        None,
        "Security protocol of each listener, NAME:PROTOCOL,... Default: the name is the protocol",
    ),
    ConfigDef(
        "inter.broker.listener.name",
        _STRING,
        None,
        "Listener by which nodes reach each other. Default: the one that "
        "security.inter.broker.protocol names, else PLAINTEXT, else the only one",
    ),
    ConfigDef(
        "security.inter.broker.protocol",
        _STRING,
        None,
        "Another way to name the listener by which nodes reach each other, if its name is a "
        "protocol",
        choices=tuple(SecurityProtocol.__members__),
    ),
    ConfigDef("log.dirs", _STRING, "barnabas-data", "Data directory"),
    ConfigDef(
        "broker.rack",
        _STRING,
        None,
        "Rack of this node, for placing replicas and for reading from the closest replica",
    ),
    ConfigDef(
        "controller.quorum.voters",
        _STRING,
        None,
        "Voters: the nodes that elect the controller and store the metadata log, "
        "ID@HOST:PORT,...; the same on every node. Default: only this node",
    ),
    ConfigDef(
        "cluster.secret.file",
        _STRING,
        None,
        "File with the secret by which nodes authenticate to each other, the same on every node. "
        "Default: cluster.secret in the data directory; a single-node cluster creates it",
    ),
    ConfigDef(
        "initial.users.file",
        _STRING,
        None,
        "File with users that a new cluster begins with, one on a line, as kafka-storage "
        "--add-scram takes them; ignored by a cluster that exists. `barnabas security init` "
        "writes it",
    ),
    ConfigDef(
        "authorizer.class.name",
        _STRING,
        "",
        "Turns access rules on, with the value "
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer. Default: everybody may do "
        "everything",
        choices=("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ),
    ConfigDef(
        "super.users",
        _STRING,
        None,
        "Principals that may do everything, whatever the access rules say: User:NAME;User:NAME...",
    ),
    ConfigDef(
        "allow.everyone.if.no.acl.found",
        _BOOLEAN,
        "false",
        "Whether every principal may use a resource that has no access rules",
    ),
    ConfigDef(
        "broker.session.timeout.ms",
        _INT,
        "3000",
        "Time without a heartbeat after which the controller fences a node: it leads no partition "
        "until it is back",
        low=100,
    ),
    ConfigDef(
        "broker.heartbeat.interval.ms",
        _INT,
        "500",
        "Interval of heartbeats to the controller",
        low=10,
    ),
    ConfigDef(
        "replica.lag.time.max.ms",
        _LONG,
        "10000",
        "Time after which a follower that has not caught up with its leader leaves the in-sync set",
        low=1,
    ),
    ConfigDef(
        "replica.fetch.max.bytes",
        _INT,
        "1048576",
        "Maximum bytes of one partition in a follower's fetch; a larger batch is still returned",
        low=1024,
    ),
    ConfigDef(
        "replica.fetch.response.max.bytes",
        _INT,
        "10485760",
        "Maximum bytes of a follower's fetch, all partitions together",
        low=1024,
    ),
    ConfigDef(
        "replica.fetch.wait.max.ms",
        _INT,
        "500",
        "Maximum time that a leader delays a follower's fetch while there are no new records",
        low=1,
    ),
    ConfigDef(
        "default.replication.factor",
        _INT,
        "-1",
        "Replication factor of topics created without one; -1 means 3, or the number of brokers "
        "if it is smaller",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "offsets.topic.replication.factor",
        _INT,
        "-1",
        "Replication factor of __consumer_offsets; -1 means 3, or the number of brokers at its "
        "creation if it is smaller. With three or more its min.insync.replicas is 2",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "auto.leader.rebalance.enable",
        _BOOLEAN,
        "true",
        "Whether preferred leaders are elected automatically",
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
        "Tolerated leader imbalance of a node: the percentage of its preferred partitions that "
        "others lead. Above it, the preferred leaders are elected",
        low=0,
        high=100,
    ),
    ConfigDef(
        "controlled.shutdown.enable",
        _BOOLEAN,
        "true",
        "Whether a node hands over its leadership before it stops",
    ),
    ConfigDef(
        "controlled.shutdown.max.wait.ms",
        _INT,
        "5000",
        "Maximum time for handing over leadership; then the node stops anyway",
        low=0,
    ),
    ConfigDef(
        "replica.selector.class",
        _STRING,
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "Replica that a consumer fetches from: an in-sync replica in its rack if there is one, or "
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
        "Whether a topic is created when a client asks for it by name",
        dynamic=True,
    ),
    ConfigDef(
        "auto.create.topics.max.per.request",
        _INT,
        "100",
        "Maximum number of topics that one Metadata request creates; clients retry for the rest",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "auto.create.topics.max.per.second",
        _INT,
        "100",
        "Maximum number of topics that this node creates automatically per second; clients retry "
        "for the rest",
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
        "Maximum number of replicas on a broker; topics that need more are refused",
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
        "Number of partitions of topics created without one",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "socket.request.max.bytes",
        _INT,
        "104857600",
        "Maximum size of a request",
        low=1024,
        dynamic=True,
    ),
    ConfigDef(
        "queued.max.request.bytes",
        _LONG,
        "536870912",
        "Memory for requests that are being received, all connections together; above it, the "
        "connections that have held the most memory for the longest time are closed",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "queued.max.response.bytes",
        _LONG,
        "536870912",
        "Memory for responses that clients have not read yet, all connections together; as it "
        "fills, fetch responses get smaller, down to one batch; above it, the connections that "
        "have held the most memory for the longest time are closed",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "fetch.max.bytes",
        _INT,
        "8388608",
        "Maximum bytes of a fetch response; a larger batch is still returned",
        low=1024,
        dynamic=True,
    ),
    ConfigDef(
        "max.connections", _INT, "10000", "Maximum number of connections", low=1, dynamic=True
    ),
    ConfigDef(
        "max.connections.per.ip",
        _INT,
        "2147483647",
        "Maximum number of connections from one address",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "connections.max.idle.ms",
        _LONG,
        "600000",
        "Time after which an idle connection is closed",
        low=1000,
        dynamic=True,
    ),
    ConfigDef(
        "max.incremental.fetch.session.cache.slots",
        _INT,
        "1000",
        "Maximum number of incremental fetch sessions",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "max.decompressed.batch.bytes",
        _INT,
        "33554432",
        "Maximum decompressed size of a batch; larger batches are refused",
        low=1048576,
        high=268435456,  # what compaction is ready to unpack
        dynamic=True,
    ),
    ConfigDef(
        "log.retention.check.interval.ms",
        _LONG,
        "300000",
        "Interval of checks for segments to delete",
        low=1,
    ),
    ConfigDef(
        "log.cleaner.backoff.ms",
        _LONG,
        "15000",
        "Interval of checks for logs to compact",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "log.cleaner.dedupe.buffer.size",
        _LONG,
        "134217728",
        "Memory for the keys of a log during compaction, 21 bytes per key; a log with more keys "
        "takes several passes",
        low=1048576,
        dynamic=True,
    ),
    ConfigDef(
        "log.cleaner.io.max.bytes.per.second",
        ConfigType.DOUBLE,
        "67108864",
        "Maximum bytes that compaction reads and writes per second, in total; 0 means no limit",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.flush.offset.checkpoint.interval.ms",
        _INT,
        "60000",
        "Interval of recovery checkpoints, which shorten the next start",
        low=1,
    ),
    ConfigDef(
        "replica.high.watermark.checkpoint.interval.ms",
        _LONG,
        "1000",
        "Interval of high watermark checkpoints, which the next start compares with the logs on "
        "disk",
        low=1,
    ),
    ConfigDef(
        "log.scrub.bytes.per.second",
        _LONG,
        "1048576",
        "Rate at which stored segments are read to find damage; 0 turns scrubbing off",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.scrub.interval.ms",
        _LONG,
        "604800000",
        "Interval at which each segment is scrubbed",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "log.set.aside.retention.ms",
        _LONG,
        "604800000",
        "Retention of records that were cut off or taken out of a log, in the directory set-aside",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "log.set.aside.retention.bytes",
        _LONG,
        "10737418240",
        "Maximum size of the directory set-aside; above it, the oldest entries are removed once "
        "they are a day old; -1 means no limit",
        low=-1,
        dynamic=True,
    ),
    ConfigDef(
        "producer.id.expiration.ms",
        _INT,
        "86400000",
        "Time after which the state of an inactive idempotent producer expires",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "producer.ids.max.per.partition",
        _INT,
        "20000",
        "Maximum producers whose state a partition keeps, about 1 kB each; the longest idle ones "
        "without a transaction are forgotten",
        low=10,
    ),
    ConfigDef(
        "producer.ids.max.per.second",
        _INT,
        "5000",
        "Maximum rate of new idempotent producers on this node; also the size of a burst",
        low=1,
        dynamic=True,
    ),
    ConfigDef(
        "offsets.topic.num.partitions",
        _INT,
        "50",
        "Number of partitions of __consumer_offsets, fixed once it exists",
        low=1,
    ),
    ConfigDef(
        "offsets.topic.segment.bytes",
        _INT,
        "2097152",
        "Segment size of __consumer_offsets; small segments are compacted often and load fast",
        low=1024,
    ),
    ConfigDef(
        "transaction.state.log.num.partitions",
        _INT,
        "50",
        "Number of partitions of __transaction_state, fixed once it exists",
        low=1,
    ),
    ConfigDef(
        "transaction.state.log.segment.bytes",
        _INT,
        "2097152",
        "Segment size of __transaction_state; small segments are compacted often and load fast",
        low=1024,
    ),
    ConfigDef(
        "transaction.state.log.replication.factor",
        _INT,
        "-1",
        "Replication factor of __transaction_state; -1 means 3, or the number of brokers at its "
        "creation if it is smaller",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "transaction.state.log.min.isr",
        _INT,
        "-1",
        "min.insync.replicas of __transaction_state at its creation; -1 means 2 with three "
        "replicas or more, else that of the broker",
        low=-1,
    ),
    ConfigDef(
        "transaction.max.timeout.ms",
        _INT,
        "900000",
        "Maximum transaction timeout that a producer may ask for; a transaction that exceeds its "
        "timeout is aborted",
        low=1,
    ),
    ConfigDef(
        "transaction.two.phase.commit.enable",
        _BOOLEAN,
        "true",
        "Whether producers may use two-phase commit: transactions without a timeout, ended by an "
        "external coordinator; an abandoned one blocks read_committed consumers until it is fenced",
        dynamic=True,
    ),
    ConfigDef(
        "transactional.id.expiration.ms",
        _INT,
        "604800000",
        "Time after which an unused transactional id expires",
        low=1,
    ),
    ConfigDef(
        "transactional.ids.max.per.partition",
        _INT,
        "10000",
        "Maximum transactional ids in one partition of the transaction log; each stays in memory "
        "until it expires",
        low=1,
    ),
    ConfigDef(
        "offsets.retention.minutes",
        _INT,
        "10080",
        "Retention of the committed offsets of an empty group",
        low=1,
    ),
    ConfigDef(
        "offsets.retention.check.interval.ms",
        _LONG,
        "600000",
        "How often a group is checked for committed offsets that have expired",
        low=1,
    ),
    ConfigDef(
        "offsets.commit.timeout.ms",
        _INT,
        "5000",
        "Maximum time that an offset commit waits for replication before the client must retry",
        low=1,
    ),
    ConfigDef(
        "offset.metadata.max.bytes",
        _INT,
        "4096",
        "Maximum size of the metadata of a committed offset",
        low=0,
    ),
    ConfigDef(
        "group.min.session.timeout.ms",
        _INT,
        "6000",
        "Minimum session timeout of group members",
        low=1,
    ),
    ConfigDef(
        "group.max.session.timeout.ms",
        _INT,
        "1800000",
        "Maximum session timeout of group members",
        low=1,
    ),
    ConfigDef(
        "group.initial.rebalance.delay.ms",
        _INT,
        "100",
        "Delay of the first rebalance of an empty group, to wait for more members",
        low=0,
    ),
    ConfigDef(
        "group.disconnect.grace.ms",
        _INT,
        "5000",
        "Time after which a member of a consumer group whose connection broke is removed, unless "
        "it is back; at least one and a half of its heartbeat intervals. Static members are "
        "removed at their session timeout, as all members are with -1",
        low=-1,
    ),
    ConfigDef("group.max.size", _INT, "2147483647", "Maximum number of members of a group", low=1),
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

_QUOTA_WINDOWS = (
    ConfigDef(
        "quota.window.num",
        _INT,
        "11",
        "Number of windows over which the rates of clients are measured for quotas",
        low=1,
    ),
    ConfigDef("quota.window.size.seconds", _INT, "1", "Length of each of these windows", low=1),
    ConfigDef(
        "controller.quota.window.num",
        _INT,
        "11",
        "Number of windows whose worth controller_mutation_rate allows at once",
        low=1,
    ),
    ConfigDef(
        "controller.quota.window.size.seconds", _INT, "1", "Length of each of these windows", low=1
    ),
    ConfigDef(
        "replication.quota.window.num",
        _INT,
        "11",
        "Number of windows over which the rates of throttled replicas are measured",
        low=1,
    ),
    ConfigDef(
        "replication.quota.window.size.seconds", _INT, "1", "Length of each of these windows", low=1
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


_THROTTLES = (
    ConfigDef(
        "leader.replication.throttled.rate",
        _LONG,
        "9223372036854775807",
        "Bytes per second that replicas which catch up may read from this node, if their topic "
        "names them in leader.replication.throttled.replicas",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "follower.replication.throttled.rate",
        _LONG,
        "9223372036854775807",
        "Bytes per second that replicas on this node which catch up may copy, if their topic names "
        "them in follower.replication.throttled.replicas",
        low=0,
        dynamic=True,
    ),
    ConfigDef(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        _LONG,
        "9223372036854775807",
        "No effect: a node has one log directory",
        low=0,
        dynamic=True,
        without_effect="a node has one log directory",
    ),
)
"""Kafka's own tool sets them for a move, and takes them back after it."""

_DEFAULTS_OF_TOPICS = tuple(
    _default_of_topics(config) for config in TOPIC_CONFIGS.values() if config.synonym is not None
)


BROKER_CONFIGS: dict[str, ConfigDef] = {
    config.name: config
    for config in sorted(
        (
            *_OWN,
            *CONSUMER_GROUP_CONFIGS,
            *MONITORING_CONFIGS,
            *SASL_CONFIGS,
            *SHARE_CONFIGS,
            *TOKEN_CONFIGS,
            *TLS_CONFIGS,
            *_QUOTA_WINDOWS,
            *_THROTTLES,
            *_DEFAULTS_OF_TOPICS,
            *BROKER_CONFIGS_WITHOUT_EFFECT,
        ),
        key=lambda config: config.name,
    )
}
