"""Which rights a user lacks, by the access rules of the cluster: for its administrator."""

from collections.abc import Sequence

from barnabas.client.admin.acls import explain, principal_of
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.right import Right
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import CLUSTER_NAME, AclOperation, ResourceType

_ANY_HOST = "0.0.0.0"  # noqa: S104 - rules for one host do not count


async def missing_rights_of(
    cluster: ClusterClient, user: str, rights: Sequence[Right]
) -> list[Right]:
    """Those that no rule allows from every host. Needs DESCRIBE on the cluster."""
    principal = Principal.parse(principal_of(user))

    async def allows(right: Right, kind: ResourceType, name: str) -> bool:
        found = await explain(cluster, principal, _ANY_HOST, right.operation, kind, name)
        return found.verdict.allowed

    missing = []
    existing = await cluster.refresh(None)
    for each in rights:
        if each.if_missing and each.sample in existing:
            continue
        if await allows(each, each.resource_type, each.sample):
            continue
        is_creation = each.operation is AclOperation.CREATE
        if is_creation and await allows(each, ResourceType.CLUSTER, CLUSTER_NAME):
            continue
        missing.append(each)
    return missing
