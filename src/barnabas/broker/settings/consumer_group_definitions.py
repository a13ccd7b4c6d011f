"""Settings of consumer groups: their defaults, and the limits of what a group may set itself."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

_INT = ConfigType.INT


def _interval(
    name: str, what: str, default: int, limits: tuple[int, int], low: int
) -> list[ConfigDef]:
    least, most = limits
    return [
        ConfigDef(f"group.consumer.{name}", _INT, str(default), what, low=low),
        ConfigDef(
            f"group.consumer.min.{name}",
            _INT,
            str(least),
            f"Smallest value of a group's {name}",
            low=low,
        ),
        ConfigDef(
            f"group.consumer.max.{name}",
            _INT,
            str(most),
            f"Largest value of a group's {name}",
            low=low,
        ),
    ]


CONSUMER_GROUP_CONFIGS = (
    ConfigDef(
        "group.consumer.assignors",
        ConfigType.LIST,
        "uniform,range",
        "Assignors that consumer groups may use; the first one is the default",
        choices=("uniform", "range"),
        aliases={
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
        },
    ),
    ConfigDef(
        "group.consumer.max.size",
        _INT,
        "2147483647",
        "Maximum number of members of a consumer group",
        low=1,
    ),
    ConfigDef(
        "group.consumer.migration.policy",
        ConfigType.STRING,
        "bidirectional",
        "Whether groups with members may change between the classic and the consumer protocol: "
        "upgrade, downgrade, bidirectional or disabled",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    ),
    ConfigDef(
        "group.consumer.regex.refresh.interval.ms",
        _INT,
        "600000",
        "How often a consumer group's regular expressions are matched with the topics again",
        low=10_000,
    ),
    *_interval(
        "session.timeout.ms",
        "Time after which a member of a consumer group is removed if it sends no heartbeat",
        45_000,
        (45_000, 60_000),
        1,
    ),
    *_interval(
        "heartbeat.interval.ms",
        "Interval between the heartbeats of a member of a consumer group",
        5_000,
        (5_000, 15_000),
        1,
    ),
    *_interval(
        "assignment.interval.ms",
        "Shortest time between two assignments of a consumer group",
        1_000,
        (0, 15_000),
        0,
    ),
)
