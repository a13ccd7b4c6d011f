"""Offsets of groups, settings, ACLs and quotas, set in the target."""

from collections.abc import Mapping

from barnabas.backup.manifest import GroupData, Point
from barnabas.client.admin.acls import create_acls
from barnabas.client.admin.configs import ALL_BROKERS, ResourceType, alter_what_is_known
from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.quotas import QuotaEntity, alter_quotas
from barnabas.client.admin.share_groups import create_share_group, set_share_group_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.errors import BarnabasError
from barnabas.metadata.acl import Acl


async def restore_group(
    cluster: ClusterClient,
    group_id: str,
    group: GroupData,
    offsets: Mapping[TopicPartition, int],
    texts: Mapping[TopicPartition, str],
) -> list[str]:
    """Set the offsets and settings of a group; returns what could not be done."""
    problems = []
    if offsets:
        try:
            if group.type == GroupType.SHARE:
                await create_share_group(cluster, group_id, {name.topic for name in offsets})
                await set_share_group_offsets(cluster, group_id, offsets)
            else:
                await commit_offsets(cluster, group_id, offsets, metadata=texts)
        except BarnabasError as error:
            if error.retriable:
                raise
            problems.append(f"offsets of group {group_id} are not restored: {error}")
    refused = await alter_what_is_known(cluster, ResourceType.GROUP, group_id, group.configs)
    problems += [
        f"group {group_id}: {key}={group.configs[key]} is left out: {why}"
        for key, why in refused.items()
    ]
    return problems


async def restore_state(cluster: ClusterClient, point: Point) -> list[str]:
    """Broker settings and quotas; returns what has to be done by hand."""
    problems = []
    for name, settings in point.broker_configs.items():
        if name != ALL_BROKERS and int(name) not in cluster.brokers:
            listed = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
            problems.append(f"settings of node {name}, which is not there: {listed}")
            continue
        refused = await alter_what_is_known(cluster, ResourceType.BROKER, name, settings)
        owner = "of all nodes" if name == ALL_BROKERS else f"of node {name}"
        problems += [
            f"setting {key}={settings[key]} {owner} is left out: {why}"
            for key, why in refused.items()
        ]
    problems += await _restore_quotas(cluster, point)
    if point.hidden_configs:
        problems.append(
            "settings whose values brokers do not show have to be set again: "
            + ", ".join(point.hidden_configs)
        )
    if point.users:
        problems.append(
            "passwords can't be read from a cluster, so these users have to be added again with "
            f"`barnabas users add NAME`: {', '.join(point.users)}"
        )
    return problems


async def _restore_quotas(cluster: ClusterClient, point: Point) -> list[str]:
    problems = []
    for each in point.quotas:
        entity = QuotaEntity(*each["entity"])
        try:
            await alter_quotas(cluster, entity, each["limits"])
        except BarnabasError as error:
            if error.retriable:
                raise
            problems.append(f"the quota of {entity} is left out: {error}")
    return problems


async def restore_acls(cluster: ClusterClient, point: Point) -> list[str]:
    """Last, because from the first rule on others may be locked out. Returns what could not be
    done."""
    try:
        await create_acls(cluster, [Acl(*each) for each in point.acls])
    except BarnabasError as error:
        if error.retriable:
            raise
        return [f"{len(point.acls)} ACLs are not restored: {error}"]
    return []
