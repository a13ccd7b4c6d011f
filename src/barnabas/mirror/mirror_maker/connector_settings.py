"""The flow of a connector: MirrorSourceConnector's settings, and some that only mirrors here have.

    source.cluster.alias = A
    source.cluster.bootstrap.servers = a1:9092
    source.cluster.security.protocol = SSL      encryption and sign-in, for each cluster
    target.cluster.bootstrap.servers = b1:9092
    topics = orders, customers.*

One connector does what Mirror Maker needs three for, so settings of MirrorCheckpointConnector and
MirrorHeartbeatConnector belong here too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import ClusterEnd
from barnabas.mirror.mirror_maker.file_settings import FileSettings
from barnabas.mirror.mirror_maker.properties import cluster_end, configured_flow
from barnabas.mirror.mirror_maker.unused import UnusedSetting, unused_settings

MIRROR = "mirror"
MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
"""The classes of mirrors. They differ in one default, as Mirror Maker commits no offsets."""

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")

_PLAIN = ("",)
_DEFAULT_TARGET = "target"
_MEGABYTE = 1_000_000
_LEAST_MB = 0.001
_LEAST_ROUND_S = 0.2


@dataclass(frozen=True)
class ConnectorFlow:
    """What the settings of a connector say."""

    mirrored: ConfiguredFlow
    unused: tuple[UnusedSetting, ...]


def flow_of(config: Mapping[str, str]) -> ConfiguredFlow:
    """The flow of a connector whose settings are right."""
    return connector_flow(config, commits_groups=config["connector.class"] == MIRROR).mirrored


def connector_flow(config: Mapping[str, str], *, commits_groups: bool) -> ConnectorFlow:
    """The flow of a connector. Raises `InvalidArgument`, with the name of the setting.

    `commits_groups` is whether offsets of groups are committed if nothing is said about it.
    """
    settings = FileSettings(config)
    source = _end(settings, "source.cluster.", None)
    target = _end(settings, "target.cluster.", _DEFAULT_TARGET)
    found = configured_flow(settings, _PLAIN, source, target, commits_groups=commits_groups)
    flow = replace(found.flow, **_further(settings))
    if settings.boolean(_PLAIN, "enabled") is False:
        raise InvalidArgument("enabled=false: stop the connector instead")
    return ConnectorFlow(
        replace(found, flow=flow), tuple(unused_settings(settings.unused, clusters=()))
    )


def _end(settings: FileSettings, prefix: str, default: str | None) -> ClusterEnd:
    alias = settings.text((prefix,), "alias") or default
    servers = settings.text((prefix,), "bootstrap.servers")
    for name, value in (("alias", alias), ("bootstrap.servers", servers)):
        if value is None:
            raise InvalidArgument(
                f"Missing required setting '{prefix}{name}', which has no default value"
            )
    assert alias is not None
    assert servers is not None
    try:
        return cluster_end(settings, (prefix,), alias, servers)
    except InvalidArgument as error:
        raise InvalidArgument(f"{prefix}alias={alias}: {error}") from error


def _further(settings: FileSettings) -> dict[str, Any]:
    """What Mirror Maker has no setting for."""
    rate = settings.decimal(_PLAIN, "max.mb.per.second", _LEAST_MB)
    settings.decimal(_PLAIN, "round.seconds", _LEAST_ROUND_S)  # of mirrors on Spark: no effect
    wanted = {
        "provenance": settings.boolean(_PLAIN, "provenance"),
        "start": settings.choice(
            _PLAIN, ("earliest", "latest"), "start", "source.consumer.auto.offset.reset"
        ),
        "sync_deletes": settings.boolean(_PLAIN, "delete.topics"),
        "sync_quotas": settings.boolean(_PLAIN, "sync.quotas"),
        "max_bytes_per_second": None if rate is None else round(rate * _MEGABYTE),
        "compression": settings.choice(_PLAIN, COMPRESSIONS, "compression"),
    }
    return {name: value for name, value in wanted.items() if value is not None}
