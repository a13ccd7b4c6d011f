"""Kafka's settings of a topic that have no effect here.

They are accepted, kept and described, because programs that copy topics (mirrors, infrastructure as
code) set all that Kafka has. What each would do does not exist here, or happens by itself.
"""

from barnabas.metadata.config_values import ConfigDef, ConfigType

TOPIC_CONFIGS_WITHOUT_EFFECT = (
    ConfigDef(
        "compression.lz4.level",
        ConfigType.INT,
        "9",
        "No effect: lz4 compresses at one level, the fastest",
        low=1,
        high=17,
        synonym="compression.lz4.level",
        without_effect="lz4 compresses at one level, the fastest",
    ),
    ConfigDef(
        "local.retention.bytes",
        ConfigType.LONG,
        "-2",
        "No effect: all segments are local; see retention.bytes",
        low=-2,
        synonym="log.local.retention.bytes",
        without_effect="all segments are local; see retention.bytes",
    ),
    ConfigDef(
        "local.retention.ms",
        ConfigType.LONG,
        "-2",
        "No effect: all segments are local; see retention.ms",
        low=-2,
        synonym="log.local.retention.ms",
        without_effect="all segments are local; see retention.ms",
    ),
    ConfigDef(
        "preallocate",
        ConfigType.BOOLEAN,
        "false",
        "No effect: segment files grow as they are written",
        synonym="log.preallocate",
        without_effect="segment files grow as they are written",
    ),
    ConfigDef(
        "remote.log.copy.disable",
        ConfigType.BOOLEAN,
        "false",
        "No effect: there is no tiered storage",
        default_has_synonym=False,
        without_effect="there is no tiered storage",
    ),
    ConfigDef(
        "remote.log.delete.on.disable",
        ConfigType.BOOLEAN,
        "false",
        "No effect: there is no tiered storage",
        default_has_synonym=False,
        without_effect="there is no tiered storage",
    ),
    ConfigDef(
        "remote.storage.enable",
        ConfigType.BOOLEAN,
        "false",
        "No effect: there is no tiered storage, so it can't be enabled",
        choices=("false",),
        default_has_synonym=False,
        without_effect="there is no tiered storage",
    ),
    ConfigDef(
        "segment.index.bytes",
        ConfigType.INT,
        "10485760",
        "No effect: an index is as large as its segment needs",
        low=4,
        synonym="log.index.size.max.bytes",
        without_effect="an index is as large as its segment needs",
    ),
    ConfigDef(
        "segment.jitter.ms",
        ConfigType.LONG,
        "0",
        "No effect: segments are rolled at segment.ms exactly",
        low=0,
        synonym="log.roll.jitter.ms",
        default_has_synonym=False,
        without_effect="segments are rolled at segment.ms exactly",
    ),
)
