"""Settings of delegation tokens, with Kafka's names."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

TOKEN_CONFIGS = (
    ConfigDef(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        "Secret that delegation tokens are made with, the same on every node. Default: there are "
        "no delegation tokens",
    ),
    ConfigDef(
        "delegation.token.max.lifetime.ms",
        ConfigType.LONG,
        "604800000",
        "Maximum lifetime of a delegation token, however often it is renewed",
        low=1,
    ),
    ConfigDef(
        "delegation.token.expiry.time.ms",
        ConfigType.LONG,
        "86400000",
        "Time after which a delegation token expires unless it is renewed",
        low=1,
    ),
    ConfigDef(
        "delegation.token.expiry.check.interval.ms",
        ConfigType.LONG,
        "3600000",
        "Interval at which expired delegation tokens are removed",
        low=1,
    ),
)
