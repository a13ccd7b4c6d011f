"""Brings ACLs and quotas of the target in line with those of the source.

Users themselves can't be copied: brokers do not show the salted hashes of passwords. What is
deleted in the source is deleted in the target if the same run has copied it.
"""

from collections.abc import Mapping

from barnabas.client.admin.acls import create_acls, delete_acls, describe_acls
from barnabas.client.admin.quotas import QuotaEntity, alter_quotas, describe_quotas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, InvalidArgument
from barnabas.metadata.acl import Acl, AclFilter
from barnabas.mirror.access_plan import changed_quotas, copied_acls
from barnabas.mirror.flow import Flow
from barnabas.wire.acl_codes import ResourceType


class AccessSync:
    """Of one flow; it remembers what it has copied."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._acls: set[Acl] = set()
        self._quotas: set[tuple[QuotaEntity, str]] = set()

    async def sync(
        self, source: ClusterClient, target: ClusterClient, flowing: Mapping[str, str]
    ) -> list[str]:
        """Copy what the flow wants of these topics; returns what could not be copied, and why."""
        problems = []
        for what, is_wanted, copy in (
            ("ACLs", self._flow.sync_acls, self._sync_acls),
            ("quotas", self._flow.sync_quotas, self._sync_quotas),
        ):
            if not is_wanted:
                continue
            try:
                await copy(source, target, flowing)
            except (BrokerError, InvalidArgument) as error:
                if error.retriable:
                    raise
                problems.append(f"flow {self._flow.name}: {what} are not copied: {error}")
        return problems

    async def _sync_acls(
        self, source: ClusterClient, target: ClusterClient, flowing: Mapping[str, str]
    ) -> None:
        topics = AclFilter(ResourceType.TOPIC)
        wanted = copied_acls(self._flow, await describe_acls(source, topics), flowing)
        present = set(await describe_acls(target, topics))
        if missing := wanted - present:
            await create_acls(target, sorted(missing))
        if gone := (self._acls - wanted) & present:
            await delete_acls(target, [AclFilter(*each) for each in sorted(gone)])
        self._acls = wanted

    async def _sync_quotas(
        self, source: ClusterClient, target: ClusterClient, _flowing: Mapping[str, str]
    ) -> None:
        wanted = await describe_quotas(source)
        present = await describe_quotas(target)
        for entity, limits in changed_quotas(wanted, present, self._quotas).items():
            await alter_quotas(target, entity, limits)
        self._quotas = {(each.entity, key) for each in wanted for key in each.limits}
