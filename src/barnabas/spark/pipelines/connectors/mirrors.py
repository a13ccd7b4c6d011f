"""Connectors that are mirrors: `mirror`, or Mirror Maker 2's MirrorSourceConnector.

One of them does what Mirror Maker has three connectors for: it copies topics, takes groups along,
and writes offset syncs, checkpoints and heartbeats. They are no pipelines: the service runs them in
processes without Spark (`barnabas.connect.driver.mirror`), and positions are in the target.
"""

from collections.abc import Mapping

from barnabas.errors import InvalidArgument
from barnabas.mirror.mirror_maker.connector_settings import (
    COMPRESSIONS,
    MIRROR,
    MIRROR_SOURCE,
    connector_flow,
)
from barnabas.spark.pipelines.connectors.converters import converter_of
from barnabas.spark.pipelines.connectors.driver_settings import check_spark
from barnabas.spark.pipelines.connectors.settings import ConfigErrors, Setting, named_in
from barnabas.spark.pipelines.connectors.shared_settings import COMMON, ONCE, check_common
from barnabas.spark.pipelines.definition.pipeline import check_name

MIRRORS = (MIRROR, MIRROR_SOURCE)
"""The classes of mirrors. They differ in one default, as Mirror Maker commits no offsets."""

_JAVA = "org.apache.kafka.connect.mirror."
_PARTS = {
    f"{_JAVA}MirrorCheckpointConnector": "groups, sync.group.offsets.*, emit.checkpoints.*",
    f"{_JAVA}MirrorHeartbeatConnector": "emit.heartbeats.enabled",
}
_TAKEN = {"name", "connector.class", "tasks.max", "restarts.max", "spark.own", ONCE.name}
_INSTEAD = {
    "trigger": "records are copied at once",
    "max.rows.per.batch": "set max.mb.per.second",
    "transform.sql": "records are copied as they are",
}
_CONVERTERS = ("key", "value", "header")
_BOOLEAN = ("true", "false")
_GROUP = "Mirror"
ROUND = "round.seconds"


def _setting(name: str, documentation: str, default: str | None = None) -> Setting:
    is_boolean = default in _BOOLEAN
    return Setting(
        name,
        "BOOLEAN" if is_boolean else "STRING",
        default,
        documentation,
        group=_GROUP,
        recommended=_BOOLEAN if is_boolean else (),
    )


def _cluster(side: str, alias: str | None) -> list[Setting]:
    return [
        Setting(
            f"{side}.cluster.alias",
            default=alias,
            documentation=f"Name of the {side} cluster; it is part of the flow's identity.",
            required=alias is None,
            group=_GROUP,
            importance="HIGH",
        ),
        Setting(
            f"{side}.cluster.bootstrap.servers",
            documentation=f"Brokers of the {side}; {side}.cluster.security.protocol, ssl.* and "
            "sasl.* are its security settings.",
            required=True,
            group=_GROUP,
            importance="HIGH",
        ),
    ]


OF_MIRRORS = [
    *_cluster("source", None),
    *_cluster("target", "target"),
    _setting("topics", "Topics or regular expressions, separated by commas.", ".*"),
    _setting("topics.exclude", "Topics to exclude. Default: internal topics."),
    _setting("groups", "Groups to mirror, names or regular expressions.", ".*"),
    _setting("groups.exclude", "Groups to exclude. Default: those of tools."),
    _setting("replication.policy.class", "DefaultReplicationPolicy, or IdentityReplicationPolicy."),
    _setting("replication.policy.separator", "Separator between cluster and topic.", "."),
    _setting(
        "replication.policy.internal.topic.separator.enabled",
        "Use the separator in names of internal topics too, not dots.",
        "true",
    ),
    _setting(
        "replication.factor", "Replicas of new topics. Default: that of the target's brokers."
    ),
    _setting("sync.topic.configs.enabled", "Copy topic settings.", "true"),
    _setting("config.properties.exclude", "Topic settings that are not copied."),
    _setting("sync.topic.acls.enabled", "Copy ACLs of topics.", "false"),
    _setting("sync.group.offsets.enabled", "Commit offsets of groups in the target."),
    _setting("sync.group.offsets.interval.seconds", "How often offsets are mirrored.", "1"),
    _setting("emit.checkpoints.enabled", "Write checkpoints.", "true"),
    _setting("emit.heartbeats.enabled", "Write heartbeats.", "true"),
    _setting("heartbeats.replication.enabled", "Copy heartbeats, whatever topics says.", "true"),
    _setting("refresh.topics.interval.seconds", "How often topics are compared.", "10"),
    _setting("provenance", "Mark records with the clusters they have passed.", "false"),
    _setting("start", "First record of new partitions: earliest or latest.", "earliest"),
    _setting("delete.topics", "Delete topics that are deleted in the source.", "false"),
    _setting("sync.quotas", "Copy quotas.", "false"),
    _setting("max.mb.per.second", "Limit of the copying, in MB a second."),
    _setting("compression", f"Compression for uncompressed batches: {', '.join(COMPRESSIONS)}."),
    _setting(ROUND, "No effect: mirrors had rounds when they ran on Spark."),
]
COMMON_OF_MIRRORS = [each for each in COMMON if each.name in _TAKEN or "converter" in each.name]


def is_mirror(config: Mapping[str, str]) -> bool:
    """Whether the class is one of mirrors, or a part of Mirror Maker, which is refused."""
    return config.get("connector.class", "") in (*MIRRORS, *_PARTS)


def check_mirror(config: Mapping[str, str]) -> ConfigErrors:
    """What is wrong with settings."""
    errors = ConfigErrors()
    part = _PARTS.get(config["connector.class"])
    if part is not None:
        errors.add(
            "connector.class",
            f"{config['connector.class']}: MirrorSourceConnector does this here as well; give it "
            f"the settings of this one ({part}), and leave this one out",
        )
        return errors
    _check_converters(config, errors)
    check_common({name: each for name, each in config.items() if "converter" not in name}, errors)
    if config.get(ONCE.name) == "disabled":
        errors.add(ONCE.name, f"{ONCE.name}=disabled: mirrors copy exactly once; remove it")
    try:
        check_name(config.get("name", "connector"))  # also the name of files, as its log
    except InvalidArgument as error:
        errors.add("name", str(error))
    try:
        unused = connector_flow(config, commits_groups=True).unused
    except InvalidArgument as error:
        errors.add(named_in(str(error)), str(error))
        return errors
    for each in unused:
        if each.name in _TAKEN or each.name in errors.found or _is_converter(each.name):
            continue
        if each.name.startswith("spark."):
            check_spark(each.name, config, errors)
            continue
        why = _INSTEAD.get(each.name, each.reason)
        errors.add(each.name, f"{each.name} would be ignored: {why}; remove it")
    return errors


def _is_converter(name: str) -> bool:
    return name.startswith(tuple(f"{each}.converter" for each in _CONVERTERS))


def _check_converters(config: Mapping[str, str], errors: ConfigErrors) -> None:
    """Records are copied as bytes: a converter may say so."""
    for part in _CONVERTERS:
        found = converter_of(config, part)
        if found not in (None, "bytes"):
            name = f"{part}.converter"
            errors.add(
                name, f"{name}: records are copied as bytes; use ByteArrayConverter, or remove it"
            )
