"""ACLs and quotas, copied and followed."""

import asyncio
import secrets
from collections.abc import Mapping

import barnabas
from barnabas.client.admin.acls import AclBinding, create_acls, delete_acls, describe_acls
from barnabas.client.admin.quotas import QuotaEntity, alter_quotas, describe_quotas
from barnabas.metadata.acl import AclFilter
from barnabas.mirror.access_sync import AccessSync
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.wire.acl_codes import ResourceType

Ends = tuple[ClusterEnd, ClusterEnd]


def test_quotas_are_followed(ends: Ends) -> None:
    flow = Flow(*ends, sync_quotas=True, sync_acls=True)
    entity = QuotaEntity(client_id=f"app-{secrets.token_hex(4)}")

    async def run() -> None:
        async with flow.source.client() as source, flow.target.client() as target:
            access = AccessSync(flow)

            async def synced() -> list[Mapping[str, float]]:
                problems = await access.sync(source, target, {})
                assert len(problems) == 1  # these clusters have no authorizer
                assert "ACLs are not copied" in problems[0]
                return [each.limits for each in await describe_quotas(target, entity)]

            await alter_quotas(source, entity, {"producer_byte_rate": 1000.0})
            assert await synced() == [{"producer_byte_rate": 1000.0}]
            await alter_quotas(source, entity, {"producer_byte_rate": None})
            assert await synced() == []

    asyncio.run(run())


def test_acls_are_followed() -> None:
    """The cluster is its own target: with a prefix that is as good as another."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    alice = AclBinding("User:alice", "READ", "TOPIC", "orders").acl

    async def run(servers: str) -> None:
        flow = Flow(ClusterEnd("A", servers), ClusterEnd("B", servers), sync_acls=True)
        async with flow.source.client() as cluster:
            access = AccessSync(flow)

            async def synced() -> list[str]:
                assert await access.sync(cluster, cluster, {"orders": "A.orders"}) == []
                found = await describe_acls(cluster, AclFilter(ResourceType.TOPIC))
                return [each.resource_name for each in found]

            await create_acls(cluster, [alice])
            assert await synced() == ["A.orders", "orders"]
            await delete_acls(cluster, [AclFilter(*alice)])
            assert await synced() == []

    with barnabas.Cluster(settings=settings) as cluster:
        asyncio.run(run(cluster.bootstrap_servers))
