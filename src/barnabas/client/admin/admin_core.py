"""The core of Admin: a connection to a cluster, and what can be asked of it and changed in it.

Every operation looks at the cluster's brokers first: an Admin may live long, and they come and go.
The first time, a cluster that is away is an error at once; later it is waited for.
"""

import asyncio
from collections.abc import Iterable, Mapping

from barnabas.client.admin.acls import (
    AclBinding,
    create_acls,
    delete_acls,
    describe_acls,
    principal_of,
)
from barnabas.client.admin.brokers import ClusterDescription, describe_cluster
from barnabas.client.admin.configs import ConfigEntry, ResourceType, alter_configs, describe_configs
from barnabas.client.admin.delegation_tokens import (
    DelegationToken,
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)
from barnabas.client.admin.descriptions import (
    GroupDescription,
    TopicDescription,
    topic_description,
)
from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.group_offsets import (
    describe_offsets,
    group_offsets,
    set_group_offsets,
)
from barnabas.client.admin.groups import GroupListing, delete_groups, describe_group, list_groups
from barnabas.client.admin.quotas import (
    QuotaDescription,
    QuotaEntity,
    alter_quotas,
    describe_quotas,
)
from barnabas.client.admin.topics import (
    BROKER_DEFAULT,
    create_partitions,
    create_topic,
    delete_records,
    delete_topics,
)
from barnabas.client.admin.users import (
    UserDescription,
    describe_users,
    remove_credentials,
    set_password,
)
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import NO_SECURITY, SecuritySettings
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST
from barnabas.client.offsets.offset_spec import offsets_at
from barnabas.coordination.mirror_groups import has_foreign_offsets
from barnabas.errors import (
    InvalidArgument,
    OffsetOutOfRange,
    TopicExists,
    UnknownGroup,
    UnknownTopic,
)
from barnabas.metadata.acl import AclFilter
from barnabas.wire.errors import ErrorCode

_VISIBLE_WITHIN_S = 5.0
_NO_MEMBERS = ("Empty", "Dead")


class AdminCore:
    """All that an Admin does, without its waiting."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        *,
        client_id: str,
        request_timeout_ms: int,
        security: SecuritySettings = NO_SECURITY,
    ) -> None:
        self._cluster = ClusterClient(
            bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            security=security,
        )

    async def close(self) -> None:
        await self._cluster.close()

    async def _connected(self) -> ClusterClient:
        cluster = self._cluster
        if cluster.brokers:
            await cluster.retrying(lambda: cluster.refresh([]))
        else:
            await cluster.refresh([])
        return cluster

    async def cluster(self) -> ClusterDescription:
        return await describe_cluster(await self._connected())

    # -- topics --------------------------------------------------------------------------------

    async def topics(self, *, internal: bool) -> dict[str, TopicDescription]:
        topics = await (await self._connected()).refresh(None)
        return {
            name: topic_description(topic)
            for name, topic in sorted(topics.items())
            if not topic.error_code and (internal or not _is_internal(name, topic.is_internal))
        }

    async def describe_topic(self, name: str) -> TopicDescription:
        return topic_description((await (await self._connected()).topics([name]))[name])

    async def create_topic(
        self,
        name: str,
        partitions: int | None,
        replication_factor: int | None,
        configs: Mapping[str, str],
        *,
        exist_ok: bool,
    ) -> bool:
        cluster = await self._connected()
        try:
            await create_topic(
                cluster,
                name,
                partitions=BROKER_DEFAULT if partitions is None else partitions,
                replication_factor=(
                    BROKER_DEFAULT if replication_factor is None else replication_factor
                ),
                configs=configs,
            )
        except TopicExists:
            if not exist_ok:
                raise
            return False
        await self._until_led(name, partitions or 1)
        return True

    async def delete_topics(self, names: Iterable[str], *, missing_ok: bool) -> None:
        results = await delete_topics(await self._connected(), list(names))
        for error in results.values():
            if error is not None and not (missing_ok and isinstance(error, UnknownTopic)):
                raise error

    async def add_partitions(self, name: str, total: int) -> None:
        await create_partitions(await self._connected(), name, total)
        await self._until_led(name, total)

    async def _until_led(self, name: str, partitions: int) -> None:
        """Brokers hear of a change one after the other; soon all know it."""
        environment = self._cluster.environment
        deadline = environment.monotonic() + _VISIBLE_WITHIN_S
        for pause in RETRY.pauses(environment.random):
            topic = (await self._cluster.refresh([name]))[name]
            led = sum(each.leader != NO_LEADER for each in topic.partitions)
            if led >= partitions or environment.monotonic() + pause > deadline:
                return
            await asyncio.sleep(pause)

    # -- configurations ------------------------------------------------------------------------

    async def configs(self, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
        cluster = await self._connected()
        return {each.name: each for each in (await describe_configs(cluster, kind, [name]))[name]}

    async def set_configs(
        self, kind: ResourceType, name: str, settings: Mapping[str, str | None]
    ) -> None:
        await alter_configs(
            await self._connected(),
            kind,
            name,
            settings={key: value for key, value in settings.items() if value is not None},
            deletions=[key for key, value in settings.items() if value is None],
        )

    # -- offsets -------------------------------------------------------------------------------

    async def offsets(
        self, topic: str, timestamp: int, isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        cluster = await self._connected()
        partitions = await self._partitions([topic])
        return await offsets_at(cluster, partitions, timestamp, isolation)

    async def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        return await delete_records(await self._connected(), before)

    async def delete_all_records(self, topic: str) -> dict[TopicPartition, int]:
        cluster = await self._connected()
        return await delete_records(cluster, dict.fromkeys(await self._partitions([topic]), -1))

    async def _partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        found = await self._cluster.topics(list(topics))
        return [
            TopicPartition(name, each.partition)
            for name, topic in found.items()
            for each in topic.partitions
        ]

    # -- groups --------------------------------------------------------------------------------

    async def groups(self, types: Iterable[str]) -> dict[str, GroupListing]:
        wanted = [_group_type(each) for each in types]
        listed = await list_groups(await self._connected(), wanted)
        return {each.group_id: each for each in listed}

    async def describe_group(self, group_id: str) -> GroupDescription:
        cluster = await self._connected()
        group = await describe_group(cluster, group_id)
        offsets = await describe_offsets(cluster, group)
        return GroupDescription(
            group_id,
            group.state,
            group.protocol_type,
            group.assignor,
            group.members,
            offsets,
            group.group_type,
            group.epoch,
            group.assignment_epoch,
        )

    async def delete_groups(self, group_ids: Iterable[str], *, missing_ok: bool) -> None:
        results = await delete_groups(await self._connected(), list(group_ids))
        for error in results.values():
            if error is not None and not (missing_ok and isinstance(error, UnknownGroup)):
                raise error

    async def group_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        return dict(sorted((await group_offsets(await self._connected(), group_id)).items()))

    async def set_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        cluster = await self._connected()
        await self._check_empty(group_id)
        check_at_least(0, **{f"the offset of {each}": offset for each, offset in offsets.items()})
        ends = await offsets_at(cluster, offsets, LATEST)
        for each, end in ends.items():
            if offsets[each] > end and not has_foreign_offsets(group_id):
                raise OffsetOutOfRange(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"partition {each}: its log ends at {end}, so nothing can be read from offset "
                    f"{offsets[each]} on",
                )
        await set_group_offsets(cluster, group_id, offsets)
        return dict(offsets)

    async def move_group(
        self, group_id: str, timestamp: int, topics: Iterable[str] | None
    ) -> dict[TopicPartition, int]:
        """Set the offsets of whole topics, or of all that the group has committed."""
        cluster = await self._connected()
        await self._check_empty(group_id)
        if topics is None:
            partitions = sorted(await group_offsets(cluster, group_id))
            if not partitions:
                raise InvalidArgument(f"group {group_id} has committed nothing: name the topics")
        else:
            partitions = await self._partitions(topics)
        offsets = await offsets_at(cluster, partitions, timestamp)
        await set_group_offsets(cluster, group_id, offsets)
        return offsets

    # -- users ---------------------------------------------------------------------------------

    async def users(self) -> dict[str, UserDescription]:
        return await describe_users(await self._connected())

    async def set_password(
        self, user: str, password: str, mechanisms: Iterable[str], iterations: int
    ) -> None:
        cluster = await self._connected()
        await set_password(cluster, user, password, mechanisms=mechanisms, iterations=iterations)

    async def delete_user(self, user: str, *, missing_ok: bool) -> None:
        cluster = await self._connected()
        found = (await describe_users(cluster, [user])).get(user)
        if found is not None:
            await remove_credentials(cluster, user, found.mechanisms)
        elif not missing_ok:
            raise broker_error(
                ErrorCode.RESOURCE_NOT_FOUND, f"user {user}", "there is no such user"
            )

    # -- delegation tokens ---------------------------------------------------------------------

    async def create_delegation_token(
        self, owner: str | None, renewers: Iterable[str], max_lifetime_ms: int | None
    ) -> DelegationToken:
        cluster = await self._connected()
        return await create_token(
            cluster, owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms
        )

    async def delegation_tokens(self, owners: Iterable[str] | None) -> list[DelegationToken]:
        return await describe_tokens(await self._connected(), owners)

    async def renew_delegation_token(self, hmac: bytes, period_ms: int | None) -> int:
        return await renew_token(await self._connected(), hmac, period_ms)

    async def expire_delegation_token(self, hmac: bytes, after_ms: int | None) -> int:
        return await expire_token(await self._connected(), hmac, after_ms)

    # -- access rules --------------------------------------------------------------------------

    async def acls(self, user: str | None) -> list[AclBinding]:
        wanted = AclFilter(principal=None if user is None else principal_of(user))
        return list(map(AclBinding.of, await describe_acls(await self._connected(), wanted)))

    async def create_acls(self, acls: Iterable[AclBinding]) -> None:
        asked = [binding.acl for binding in acls]
        await create_acls(await self._connected(), asked)

    async def delete_acls(self, acls: Iterable[AclBinding]) -> list[AclBinding]:
        wanted = [AclFilter(*binding.acl) for binding in acls]
        return list(map(AclBinding.of, await delete_acls(await self._connected(), wanted)))

    # -- quotas --------------------------------------------------------------------------------

    async def quotas(self) -> list[QuotaDescription]:
        return await describe_quotas(await self._connected())

    async def set_quotas(self, entity: QuotaEntity, limits: Mapping[str, float | None]) -> None:
        await alter_quotas(await self._connected(), entity, limits)

    async def _check_empty(self, group_id: str) -> None:
        try:
            group = await describe_group(self._cluster, group_id)
        except UnknownGroup:
            return
        if group.state not in _NO_MEMBERS:
            raise broker_error(ErrorCode.NON_EMPTY_GROUP, f"group {group_id}")


def _group_type(name: str) -> GroupType:
    found = GroupType.of(name)
    if found is GroupType.UNKNOWN:
        known = ", ".join(each.value for each in GroupType if each is not GroupType.UNKNOWN)
        raise InvalidArgument(f"unknown group type {name!r}; use {known}")
    return found


def _is_internal(name: str, said: bool) -> bool:
    return said or name.startswith("__")
