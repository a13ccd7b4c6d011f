"""Flows of a property file of Mirror Maker 2.

    clusters = A, B
    A.bootstrap.servers = a1:9092
    B.bootstrap.servers = b1:9092
    A->B.enabled = true
    A->B.topics = orders, customers.*

Defaults are those of Mirror Maker, but topics and groups are looked at more often, new topics have
the replication factor of the target's brokers, and ACLs are copied only where the file says so.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from barnabas.client.connect.security_settings import SECURITY_SETTINGS
from barnabas.errors import InvalidArgument
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import DEFAULT_EXCLUDED, ClusterEnd, Flow, Names
from barnabas.mirror.groups.group_settings import DEFAULT_EXCLUDED_GROUPS, GroupSettings
from barnabas.mirror.mirror_maker.file_settings import FileSettings
from barnabas.mirror.mirror_maker.unused import UnusedSetting, unused_settings

_EVERYTHING = ("",)
_POLICIES = {
    "DefaultReplicationPolicy": Names.PREFIX,
    "IdentityReplicationPolicy": Names.IDENTITY,
}
_GROUP_INTERVALS = ("sync.group.offsets.interval.seconds", "emit.checkpoints.interval.seconds")


@dataclass(frozen=True)
class MirrorMakerFile:
    """What a file says."""

    flows: tuple[ConfiguredFlow, ...]
    """Those that are enabled."""
    unused: tuple[UnusedSetting, ...]


def parse(properties: Mapping[str, str], only: Collection[str] = ()) -> MirrorMakerFile:
    """The flows of a file, or those named, such as `A->B`. Raises `InvalidArgument`."""
    settings = FileSettings(properties)
    clusters = settings.names(_EVERYTHING, "clusters")
    if not clusters:
        raise InvalidArgument("the file names no clusters: write a line such as clusters = A, B")
    ends = {name: _end(settings, name) for name in clusters}
    enabled = {
        f"{here}->{there}": (ends[here], ends[there])
        for here in clusters
        for there in clusters
        if here != there and settings.boolean((f"{here}->{there}.",), "enabled")
    }
    if not enabled:
        raise InvalidArgument(
            f"the file enables no flow: write {clusters[0]}->{clusters[-1]}.enabled = true"
        )
    for name in only:
        if name not in enabled:
            raise InvalidArgument(f"the file enables no flow {name}; it has {', '.join(enabled)}")
    found = [configured_flow(settings, (f"{name}.", ""), *enabled[name]) for name in enabled]
    flows = [replace(each, flow=replace(each.flow, clusters=clusters)) for each in found]
    return MirrorMakerFile(
        tuple(each for each in flows if not only or each.flow.name in only),
        tuple(unused_settings(settings.unused, clusters)),
    )


def _end(settings: FileSettings, cluster: str) -> ClusterEnd:
    of_cluster = f"{cluster}."
    servers = settings.text((of_cluster,), "bootstrap.servers")
    if servers is None:
        raise InvalidArgument(
            f"the file has no brokers of cluster {cluster}: write a line such as "
            f"{cluster}.bootstrap.servers = broker1:9092"
        )
    return cluster_end(settings, (of_cluster, ""), cluster, servers)


def cluster_end(
    settings: FileSettings, levels: tuple[str, ...], name: str, servers: str
) -> ClusterEnd:
    """A cluster, with the security settings that have one of these prefixes."""
    found = {each: settings.text(levels, each) for each in sorted(SECURITY_SETTINGS)}
    security = {each: value for each, value in found.items() if value is not None}
    return ClusterEnd(name, servers.replace(" ", ""), security)


def configured_flow(
    settings: FileSettings,
    levels: tuple[str, ...],
    source: ClusterEnd,
    target: ClusterEnd,
    *,
    commits_groups: bool = False,
) -> ConfiguredFlow:
    """What settings with these prefixes say of a flow.

    `commits_groups` is whether offsets of groups are committed if nothing is said about it.
    """
    excluded = settings.names(levels, "topics.exclude", "topics.blacklist")
    configs = settings.names(levels, "config.properties.exclude", "config.properties.blacklist")
    refresh_s = settings.number(levels, "refresh.topics.interval.seconds")
    syncs_configs = settings.boolean(levels, "sync.topic.configs.enabled")
    separates = settings.boolean(levels, "replication.policy.internal.topic.separator.enabled")
    heartbeats = settings.boolean(levels, "heartbeats.replication.enabled")
    flow = Flow(
        source,
        target,
        settings.names(levels, "topics", "topics.whitelist") or Flow.topics,
        DEFAULT_EXCLUDED if excluded is None else excluded,
        names=_policy(settings, levels),
        separator=settings.text(levels, "replication.policy.separator") or Flow.separator,
        separates_internal=separates is not False,
        replication_factor=settings.number(levels, "replication.factor"),
        sync_configs=syncs_configs is not False,
        exclude_configs=configs or (),
        sync_acls=settings.boolean(levels, "sync.topic.acls.enabled") is True,
        refresh_s=Flow.refresh_s if refresh_s is None else float(refresh_s),
        replicate_heartbeats=heartbeats is not False,
    )
    return ConfiguredFlow(flow, _groups(settings, levels, commits_groups))


def _policy(settings: FileSettings, levels: tuple[str, ...]) -> Names:
    found = settings.find(levels, "replication.policy.class")
    if found is None:
        return Names.PREFIX
    policy = found[1].rpartition(".")[2]
    if policy not in _POLICIES:
        raise InvalidArgument(
            f"{found[0]}={found[1]} is a class that is not known here; use {' or '.join(_POLICIES)}"
        )
    return _POLICIES[policy]


def _groups(settings: FileSettings, levels: tuple[str, ...], commits: bool) -> GroupSettings:
    included = settings.names(levels, "groups", "groups.whitelist")
    excluded = settings.names(levels, "groups.exclude", "groups.blacklist")
    intervals = [settings.number(levels, each) for each in _GROUP_INTERVALS]
    given = [each for each in intervals if each is not None]
    checkpoints = settings.boolean(levels, "emit.checkpoints.enabled")
    heartbeats = settings.boolean(levels, "emit.heartbeats.enabled")
    wanted = settings.boolean(levels, "sync.group.offsets.enabled")
    return GroupSettings(
        GroupSettings.include if included is None else included,
        DEFAULT_EXCLUDED_GROUPS if excluded is None else excluded,
        commit=commits if wanted is None else wanted,
        emit_checkpoints=checkpoints is not False,
        emit_heartbeats=heartbeats is not False,
        interval_s=float(min(given)) if given else GroupSettings.interval_s,
    )
