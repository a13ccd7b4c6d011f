"""What a cluster keeps besides records: groups, settings, users, ACLs, quotas, read by protocol.

A part that the cluster does not have, or does not let this user read, is left out and named.
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable

from barnabas.backup.manifest import GroupData, Point
from barnabas.client.admin.acls import describe_acls
from barnabas.client.admin.configs import (
    ALL_BROKERS,
    ConfigSource,
    ResourceType,
    describe_configs,
)
from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.groups import list_groups
from barnabas.client.admin.quotas import describe_quotas
from barnabas.client.admin.share_groups import share_group_offsets
from barnabas.client.admin.users import describe_users
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.errors import BarnabasError, BrokerError, ProtocolMismatch, UnknownGroup
from barnabas.metadata.acl import AclFilter
from barnabas.wire.errors import ErrorCode

_NOT_THERE = (ErrorCode.SECURITY_DISABLED, ErrorCode.UNSUPPORTED_VERSION)
_CONFIGURED = (GroupType.CONSUMER, GroupType.SHARE)
_THROTTLE = re.compile(r"(leader|follower)\.replication\.throttled\.(rate|replicas)")
"""Settings of a move that is under way, which mean nothing elsewhere."""


def wanted_names(names: Iterable[str], patterns: Collection[str]) -> list[str]:
    """Names that match one of the regular expressions as a whole; all if there are none."""
    found = sorted(names)
    if not patterns:
        return found
    return [name for name in found if any(re.fullmatch(each, name) for each in patterns)]


def is_kept(setting: str) -> bool:
    """Whether a setting belongs into a backup."""
    return not _THROTTLE.fullmatch(setting)


async def read_groups(cluster: ClusterClient, point: Point, patterns: Collection[str]) -> None:
    """Offsets and settings of groups. Read before the ends of logs, so that none is behind one."""
    listed = {each.group_id: each for each in await list_groups(cluster)}
    for group_id in wanted_names(listed, patterns):
        kind = listed[group_id].group_type
        try:
            point.groups[group_id] = await _group(cluster, group_id, kind)
        except UnknownGroup:
            continue  # since a moment ago
        except BrokerError as error:
            if error.retriable:
                raise
            point.problems.append(f"group {group_id} is left out: {error}")


async def _group(cluster: ClusterClient, group_id: str, kind: GroupType) -> GroupData:
    offsets: defaultdict[str, dict[int, tuple[int, str]]] = defaultdict(dict)
    if kind is GroupType.SHARE:
        for name, each in (await share_group_offsets(cluster, group_id)).items():
            if each.committed is not None:
                offsets[name.topic][name.partition] = (each.committed, "")
    else:
        for name, found in (await fetch_offsets_and_metadata(cluster, group_id)).items():
            offsets[name.topic][name.partition] = (found.offset, found.metadata)
    configs = {}
    if kind in _CONFIGURED:
        described = await describe_configs(cluster, ResourceType.GROUP, [group_id])
        configs = {
            each.name: each.value
            for each in described.get(group_id, ())
            if each.source is ConfigSource.GROUP and each.value is not None
        }
    return GroupData(str(kind), dict(offsets), configs)


async def read_state(cluster: ClusterClient, point: Point) -> None:
    """Everything else but topics."""
    for what, read in (
        ("broker settings", _read_broker_configs),
        ("users", _read_users),
        ("ACLs", _read_acls),
        ("quotas", _read_quotas),
    ):
        await _attempt(cluster, point, what, read)


async def _attempt(
    cluster: ClusterClient,
    point: Point,
    what: str,
    read: Callable[[ClusterClient, Point], Awaitable[None]],
) -> None:
    try:
        await read(cluster, point)
    except ProtocolMismatch:
        return  # a cluster without them
    except BarnabasError as error:
        if error.retriable:
            raise
        if not (isinstance(error, BrokerError) and error.code in _NOT_THERE):
            point.problems.append(f"{what} are left out: {error}")


async def _read_broker_configs(cluster: ClusterClient, point: Point) -> None:
    configs: defaultdict[str, dict[str, str]] = defaultdict(dict)
    hidden = set()
    for name, entries in (
        await describe_configs(cluster, ResourceType.BROKER, map(str, sorted(cluster.brokers)))
    ).items():
        for each in entries:
            if each.source is ConfigSource.DYNAMIC_DEFAULT_BROKER:
                owner = ALL_BROKERS
            elif each.source is ConfigSource.DYNAMIC_BROKER:
                owner = name
            else:
                continue
            if each.value is None:
                hidden.add(each.name)
            elif is_kept(each.name):
                configs[owner][each.name] = each.value
    point.broker_configs = dict(configs)
    point.hidden_configs = sorted(hidden)


async def _read_users(cluster: ClusterClient, point: Point) -> None:
    found = await describe_users(cluster)
    point.users = {name: dict(each.mechanisms) for name, each in sorted(found.items())}


async def _read_acls(cluster: ClusterClient, point: Point) -> None:
    point.acls = [list(each) for each in sorted(await describe_acls(cluster, AclFilter()))]


async def _read_quotas(cluster: ClusterClient, point: Point) -> None:
    point.quotas = [
        {"entity": list(each.entity), "limits": dict(each.limits)}
        for each in await describe_quotas(cluster)
    ]
