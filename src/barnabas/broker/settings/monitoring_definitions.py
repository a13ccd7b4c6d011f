"""Settings of what a node tells its operator: metrics."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

MONITORING_CONFIGS = (
    ConfigDef(
        "metrics.listeners",
        ConfigType.STRING,
        None,
        "Address of the HTTP server for /metrics, /livez, /readyz and /startupz, HOST:PORT; port 0 "
        "takes a free one, and an empty value turns it off. It has no TLS and no sign-in. Default: "
        "localhost, at the port of the first listener plus 10000 (19092), or at a free one if that "
        "is taken",
    ),
    ConfigDef(
        "metrics.max.partitions",
        ConfigType.INT,
        "10000",
        "Maximum partitions, and partitions of groups, that have metrics of their own; "
        "barnabas_metrics_left_out counts the rest",
        low=0,
        dynamic=True,
    ),
)
