"""Offsets of groups, settings, ACLs and quotas, set in the target."""

from collections.abc import Mapping

from barnabas.backup.left_to_do import (
    acl_command,
    quota_command,
    settings_command,
    user_command,
)
from barnabas.backup.manifest import GroupData, Point
from barnabas.client.admin.acls import create_acls
from barnabas.client.admin.configs import ALL_BROKERS, ResourceType, alter_what_is_known
from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.quotas import QuotaEntity, alter_quotas
from barnabas.client.admin.share_groups import create_share_group, set_share_group_offsets
from barnabas.client.admin.users import describe_users
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.errors import BarnabasError
from barnabas.metadata.acl import Acl
from barnabas.quantities import counted


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
            problems.append(
                f"node {name} is not there; give it its settings when it is, with "
                f"`{settings_command('broker', name, settings)}`"
            )
            continue
        refused = await alter_what_is_known(cluster, ResourceType.BROKER, name, settings)
        owner = "of all nodes" if name == ALL_BROKERS else f"of node {name}"
        problems += [
            f"setting {key}={settings[key]} {owner} is left out: {why}"
            for key, why in refused.items()
        ]
    problems += await _restore_quotas(cluster, point)
    if point.hidden_configs:
        values = dict.fromkeys(point.hidden_configs, "VALUE")
        problems.append(
            "settings whose values brokers do not show have to be set again, for all nodes or, "
            f"with its id in place of '', for one: `{settings_command('broker', '', values)}`"
        )
    return problems + await _missing_users(cluster, point)


async def _missing_users(cluster: ClusterClient, point: Point) -> list[str]:
    """Those that are there already, as the administrator may be, keep their passwords."""
    if not point.users:
        return []
    try:
        present = {name: each.mechanisms for name, each in (await describe_users(cluster)).items()}
    except BarnabasError as error:
        if error.retriable:
            raise
        present = {}
    commands = [
        user_command(name, wanted, present.get(name, {})) for name, wanted in point.users.items()
    ]
    return [
        f"passwords can't be read from a cluster: set one with `{each}`"
        for each in commands
        if each is not None
    ]


async def _restore_quotas(cluster: ClusterClient, point: Point) -> list[str]:
    problems = []
    for each in point.quotas:
        entity = QuotaEntity(*each["entity"])
        try:
            await alter_quotas(cluster, entity, each["limits"])
        except BarnabasError as error:
            if error.retriable:
                raise
            problems.append(
                f"the quota of {entity} is left out: {error}. To set it: "
                f"`{quota_command(entity, each['limits'])}`"
            )
    return problems


async def restore_acls(cluster: ClusterClient, point: Point) -> list[str]:
    """Last, because from the first rule on others may be locked out. Returns what could not be
    done."""
    acls = [Acl(*each) for each in point.acls]
    try:
        await create_acls(cluster, acls)
    except BarnabasError as error:
        if error.retriable:
            raise
        return [
            f"{counted(len(acls), 'ACL')} not restored: {error}",
            *(f"add an ACL with `{acl_command(each)}`" for each in acls),
        ]
    return []
