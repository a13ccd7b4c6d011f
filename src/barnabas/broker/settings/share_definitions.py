"""Settings of share groups and of the share coordinator. Those of a group have their defaults here.

Kafka's bounds of what a group may set (`group.share.min.*`, `group.share.max.*`) are here too.
"""

from barnabas.metadata.config_values import ConfigDef, ConfigType

_INT = ConfigType.INT

_LOCKS = (
    ConfigDef(
        "group.share.record.lock.duration.ms",
        _INT,
        "30000",
        "Time that a share group's consumer has a record to itself; then it is delivered again",
        low=1000,
        high=3_600_000,
    ),
    ConfigDef(
        "group.share.min.record.lock.duration.ms",
        _INT,
        "15000",
        "Minimum lock duration that a group may set",
        low=1000,
        high=30_000,
    ),
    ConfigDef(
        "group.share.max.record.lock.duration.ms",
        _INT,
        "60000",
        "Maximum lock duration that a group may set",
        low=30_000,
        high=3_600_000,
    ),
    ConfigDef(
        "group.share.delivery.count.limit",
        _INT,
        "5",
        "Number of times that a share group delivers a record before it gives it up",
        low=2,
        high=10,
    ),
    ConfigDef(
        "group.share.min.delivery.count.limit",
        _INT,
        "2",
        "Minimum delivery count limit that a group may set",
        low=2,
        high=5,
    ),
    ConfigDef(
        "group.share.max.delivery.count.limit",
        _INT,
        "10",
        "Maximum delivery count limit that a group may set",
        low=5,
        high=25,
    ),
    ConfigDef(
        "group.share.partition.max.record.locks",
        _INT,
        "2000",
        "Maximum records of a partition that a share group has delivered and not finished",
        low=100,
        high=10_000,
    ),
    ConfigDef(
        "group.share.min.partition.max.record.locks",
        _INT,
        "100",
        "Minimum of the records in delivery that a group may set",
        low=100,
        high=2_000,
    ),
    ConfigDef(
        "group.share.max.partition.max.record.locks",
        _INT,
        "4000",
        "Maximum of the records in delivery that a group may set",
        low=2_000,
        high=10_000,
    ),
)

_MEMBERS = (
    ConfigDef(
        "group.share.max.share.sessions",
        _INT,
        "2000",
        "Maximum share sessions of a node: one for each consumer of a share group that reads here",
        low=1,
    ),
    ConfigDef(
        "group.share.max.size", _INT, "200", "Maximum members of a share group", low=1, high=1000
    ),
    ConfigDef(
        "group.share.session.timeout.ms",
        _INT,
        "45000",
        "Time without heartbeats after which a member of a share group is removed",
        low=1,
    ),
    ConfigDef(
        "group.share.min.session.timeout.ms",
        _INT,
        "45000",
        "Minimum session timeout that a share group may set",
        low=1,
    ),
    ConfigDef(
        "group.share.max.session.timeout.ms",
        _INT,
        "60000",
        "Maximum session timeout that a share group may set",
        low=1,
    ),
    ConfigDef(
        "group.share.disconnect.grace.ms",
        _INT,
        "1000",
        "Time after which a member of a share group whose connection broke is removed, unless it "
        "is back; -1 waits for the session timeout",
        low=-1,
    ),
    ConfigDef(
        "group.share.assignment.interval.ms",
        _INT,
        "1000",
        "Shortest time between two assignments of partitions to members of a share group",
        low=0,
    ),
    ConfigDef(
        "group.share.min.assignment.interval.ms",
        _INT,
        "0",
        "Minimum assignment interval that a share group may set",
        low=0,
    ),
    ConfigDef(
        "group.share.max.assignment.interval.ms",
        _INT,
        "15000",
        "Maximum assignment interval that a share group may set",
        low=0,
    ),
    ConfigDef(
        "group.share.heartbeat.interval.ms",
        _INT,
        "5000",
        "Time between heartbeats of members of share groups",
        low=1,
    ),
    ConfigDef(
        "group.share.min.heartbeat.interval.ms",
        _INT,
        "5000",
        "Minimum heartbeat interval that a share group may set",
        low=1,
    ),
    ConfigDef(
        "group.share.max.heartbeat.interval.ms",
        _INT,
        "15000",
        "Maximum heartbeat interval that a share group may set",
        low=1,
    ),
)

_COORDINATOR = (
    ConfigDef(
        "share.coordinator.state.topic.num.partitions",
        _INT,
        "50",
        "Number of partitions of __share_group_state, fixed once it exists",
        low=1,
    ),
    ConfigDef(
        "share.coordinator.state.topic.replication.factor",
        _INT,
        "-1",
        "Replication factor of __share_group_state; -1 means 3, or the number of brokers at its "
        "creation if it is smaller",
        low=-1,
        high=32767,
    ),
    ConfigDef(
        "share.coordinator.state.topic.min.isr",
        _INT,
        "-1",
        "min.insync.replicas of __share_group_state at its creation; -1 means 2 with three "
        "replicas or more, else that of the broker",
        low=-1,
    ),
    ConfigDef(
        "share.coordinator.state.topic.segment.bytes",
        _INT,
        "2097152",
        "Segment size of __share_group_state; small segments are deleted early and load fast",
        low=1024,
    ),
    ConfigDef(
        "share.coordinator.snapshot.update.records.per.snapshot",
        _INT,
        "500",
        "Updates of a share partition's state between two snapshots of it",
        low=0,
        high=500,
    ),
    ConfigDef(
        "share.coordinator.write.timeout.ms",
        _INT,
        "5000",
        "Maximum time that an acknowledgement waits until it is stored",
        low=1,
    ),
)

SHARE_CONFIGS = (*_LOCKS, *_MEMBERS, *_COORDINATOR)
