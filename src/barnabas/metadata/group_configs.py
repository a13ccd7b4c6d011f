"""Every setting a group has. Its default comes from the broker's setting of `synonym`, if there is
one, and the broker bounds what a group may set."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

_INT = ConfigType.INT
_STRING = ConfigType.STRING

_CONSUMER = (
    ConfigDef(
        "consumer.assignment.interval.ms",
        _INT,
        "1000",
        "Shortest time between two assignments of partitions to members",
        low=0,
        synonym="group.consumer.assignment.interval.ms",
    ),
    ConfigDef(
        "consumer.heartbeat.interval.ms",
        _INT,
        "5000",
        "Time between heartbeats of members",
        low=1,
        synonym="group.consumer.heartbeat.interval.ms",
    ),
    ConfigDef(
        "consumer.session.timeout.ms",
        _INT,
        "45000",
        "Time without heartbeats after which a member is removed",
        low=1,
        synonym="group.consumer.session.timeout.ms",
    ),
)

_SHARE = (
    ConfigDef(
        "share.assignment.interval.ms",
        _INT,
        "1000",
        "Shortest time between two assignments of partitions to members",
        low=0,
        synonym="group.share.assignment.interval.ms",
    ),
    ConfigDef(
        "share.auto.offset.reset",
        _STRING,
        "latest",
        "Where a share group begins to read: earliest, latest, or by_duration:PnDTnHnMnS, that "
        "time ago",
        items=r"earliest|latest|by_duration:P(?=.)(\d{1,9}D)?(T(?=.)(\d{1,9}H)?(\d{1,9}M)?"
        r"(\d{1,9}(\.\d{1,9})?S)?)?",
    ),
    ConfigDef(
        "share.delivery.count.limit",
        _INT,
        "5",
        "Number of times that a record is delivered before it is given up",
        low=2,
        synonym="group.share.delivery.count.limit",
    ),
    ConfigDef(
        "share.heartbeat.interval.ms",
        _INT,
        "5000",
        "Time between heartbeats of members",
        low=1,
        synonym="group.share.heartbeat.interval.ms",
    ),
    ConfigDef(
        "share.isolation.level",
        _STRING,
        "read_uncommitted",
        "Whether records of open and aborted transactions are delivered",
        choices=("read_committed", "read_uncommitted"),
    ),
    ConfigDef(
        "share.partition.max.record.locks",
        _INT,
        "2000",
        "Maximum records of a partition that are delivered and not finished",
        low=100,
        synonym="group.share.partition.max.record.locks",
    ),
    ConfigDef(
        "share.record.lock.duration.ms",
        _INT,
        "30000",
        "Time that a consumer has a record to itself; then it is delivered again",
        low=1000,
        synonym="group.share.record.lock.duration.ms",
    ),
    ConfigDef(
        "share.renew.acknowledge.enable",
        ConfigType.BOOLEAN,
        "true",
        "Whether consumers may renew the locks of their records",
    ),
    ConfigDef(
        "share.session.timeout.ms",
        _INT,
        "45000",
        "Time without heartbeats after which a member is removed",
        low=1,
        synonym="group.share.session.timeout.ms",
    ),
)

GROUP_CONFIGS: dict[str, ConfigDef] = {config.name: config for config in (*_CONSUMER, *_SHARE)}


def bounds_of(config: ConfigDef) -> tuple[str, str] | None:
    """The broker's settings that bound what a group may set; None if there are none."""
    if config.synonym is None:
        return None
    group, kind, rest = config.synonym.split(".", 2)
    return f"{group}.{kind}.min.{rest}", f"{group}.{kind}.max.{rest}"
