"""Every setting of a subscription to client metrics (KIP-714): what clients push, and which do."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

INTERVAL = "interval.ms"
METRICS = "metrics"
MATCH = "match"

DEFAULT_INTERVAL_MS = 300_000
ALL_METRICS = "*"
MATCH_KEYS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)

CLIENT_METRICS_CONFIGS: dict[str, ConfigDef] = {
    config.name: config
    for config in (
        ConfigDef(
            INTERVAL,
            ConfigType.INT,
            str(DEFAULT_INTERVAL_MS),
            "Time between two pushes of a client",
            low=100,
            high=3_600_000,
        ),
        ConfigDef(
            MATCH,
            ConfigType.LIST,
            "",
            "Clients that push: NAME=REGEX for all of " + ", ".join(MATCH_KEYS) + ". Default: all",
            items=f"({'|'.join(MATCH_KEYS)})=.+",
        ),
        ConfigDef(
            METRICS,
            ConfigType.LIST,
            "",
            "Prefixes of the names of metrics that clients push; * for all",
        ),
    )
}
