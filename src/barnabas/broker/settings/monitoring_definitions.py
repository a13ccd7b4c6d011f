"""Settings of what a node tells its operator: metrics and its log."""

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
    ConfigDef(
        "telemetry.max.bytes",
        ConfigType.INT,
        str(1 << 20),
        "Maximum size of the metrics that a client pushes at once, as it sends them",
        low=1,
    ),
    ConfigDef(
        "log.format",
        ConfigType.STRING,
        "text",
        "Format of the log: text, or json for one JSON object in each line",
        choices=("text", "json"),
    ),
    ConfigDef(
        "log.file",
        ConfigType.STRING,
        None,
        "File that the log is written to. Default: the standard error stream",
    ),
    ConfigDef(
        "log.file.max.bytes",
        ConfigType.LONG,
        str(100 << 20),
        "Size at which log.file is renamed to log.file.1, log.file.1 to log.file.2, and so on; 0 "
        "leaves that to another program, such as logrotate",
        low=0,
    ),
    ConfigDef(
        "log.file.max.count",
        ConfigType.INT,
        "10",
        "Number of renamed log files that are kept",
        low=1,
        high=1000,
    ),
    ConfigDef(
        "request.log.clients",
        ConfigType.LIST,
        "",
        "Clients whose requests are logged: client-id=NAME, principal=User:NAME, address=IP, or "
        "*; a * in a name stands for any text",
        items=r"\*|(client-id|principal|address)=.+",
        dynamic=True,
    ),
    ConfigDef(
        "request.log.slow.ms",
        ConfigType.INT,
        "-1",
        "Requests that take longer than this are logged, with where the time went; -1 logs none",
        low=-1,
        dynamic=True,
    ),
)
