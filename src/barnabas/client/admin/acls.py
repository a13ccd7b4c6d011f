"""Access rules of a cluster: listed, created, deleted, and which of them decides a request."""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.admin.configs import ResourceType as ConfigResource
from barnabas.client.admin.configs import describe_configs
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import InvalidArgument, NotAuthorized
from barnabas.metadata.acl import Acl, AclFilter
from barnabas.security.address import canonical_address
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer, Verdict
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest


class AclBinding(NamedTuple):
    """An access rule, in Kafka's terms: `AclBinding("User:alice", "READ", "TOPIC", "orders")`."""

    principal: str
    """`User:NAME`, or `User:*` for all users."""
    operation: str
    resource_type: str
    resource_name: str = CLUSTER_NAME
    """With the pattern LITERAL, `*` stands for every resource of the type."""
    pattern_type: str = PatternType.LITERAL.name
    host: str = WILDCARD
    permission: str = AclPermission.ALLOW.name

    @property
    def acl(self) -> Acl:
        """As the protocol has it. Raises `InvalidArgument`."""
        return Acl(
            code_of(ResourceType, self.resource_type, "resource type"),
            self.resource_name,
            code_of(PatternType, self.pattern_type, "pattern type"),
            self.principal,
            self.host,
            code_of(AclOperation, self.operation, "operation"),
            code_of(AclPermission, self.permission, "permission"),
        )

    @classmethod
    def of(cls, acl: Acl) -> "AclBinding":
        return cls(
            acl.principal,
            AclOperation(acl.operation).name,
            ResourceType(acl.resource_type).name,
            acl.resource_name,
            PatternType(acl.pattern_type).name,
            acl.host,
            AclPermission(acl.permission).name,
        )


_SETTINGS = ("super.users", "allow.everyone.if.no.acl.found")

Codes = type[AclOperation] | type[ResourceType] | type[PatternType] | type[AclPermission]
_FOR_FILTERS = ("UNKNOWN", "ANY", "MATCH")


def code_of(codes: Codes, name: str, what: str) -> int:
    wanted = name.upper().replace("-", "_")
    if wanted not in codes.__members__ or wanted in _FOR_FILTERS:
        known = ", ".join(each for each in codes.__members__ if each not in _FOR_FILTERS)
        raise InvalidArgument(f"unknown {what} {name!r}; use {known}")
    return codes[wanted]


def principal_of(user: str) -> str:
    """`alice` is `User:alice`; a principal is left as it is."""
    return user if ":" in user else f"User:{user}"


async def describe_acls(cluster: ClusterClient, wanted: AclFilter) -> list[Acl]:
    """The rules that match a filter, sorted."""
    request = DescribeAclsRequest(*wanted)

    async def attempt() -> list[Acl]:
        response = await (await cluster.any_connection()).send(request)
        check(response.error_code, "access rules", response.error_message, needs="describe")
        return sorted(
            Acl(
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for resource in response.resources
            for acl in resource.acls
        )

    return await cluster.retrying(attempt)


async def create_acls(cluster: ClusterClient, acls: Iterable[Acl]) -> None:
    """Create rules; those that are there already stay as they are."""
    request = CreateAclsRequest([AclCreation(*acl) for acl in acls])

    async def attempt() -> None:
        response = await (await cluster.controller()).send(request)
        for result in response.results:
            check(result.error_code, "access rules", result.error_message, needs="alter")

    await cluster.retrying(attempt)


async def delete_acls(cluster: ClusterClient, wanted: Iterable[AclFilter]) -> list[Acl]:
    """Delete the rules that match any of the filters; returns them."""
    request = DeleteAclsRequest([DeleteAclsFilter(*each) for each in wanted])
    deleted: set[Acl] = set()

    async def attempt() -> list[Acl]:
        response = await (await cluster.controller()).send(request)
        for result in response.filter_results:
            check(result.error_code, "access rules", result.error_message, needs="alter")
            for acl in result.matching_acls:
                check(acl.error_code, "access rules", acl.error_message)
                deleted.add(
                    Acl(
                        acl.resource_type,
                        acl.resource_name,
                        acl.pattern_type,
                        acl.principal,
                        acl.host,
                        acl.operation,
                        acl.permission_type,
                    )
                )
        return sorted(deleted)

    return await cluster.retrying(attempt)


class Explanation(NamedTuple):
    """Whether a request is allowed, and why."""

    verdict: Verdict
    applying: list[Acl]
    """The rules that apply to the request; the first one decides, unless a super user asks."""
    concerning: list[Acl]
    """All rules whose pattern matches the resource."""
    knows_settings: bool
    """Whether the broker has shown `super.users` and `allow.everyone.if.no.acl.found`."""


async def explain(
    cluster: ClusterClient,
    principal: Principal,
    host: str,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
) -> Explanation:
    """Decide as the brokers do, by their rules and settings."""
    wanted = AclFilter(resource_type, name, PatternType.MATCH)
    concerning = await describe_acls(cluster, wanted)
    settings = await _settings(cluster)
    supers = (settings.get("super.users") or "").split(";")
    authorizer = StandardAuthorizer(
        [Principal.parse(each.strip()) for each in supers if each.strip()],
        allow_if_no_acl_found=settings.get("allow.everyone.if.no.acl.found") == "true",
    )
    authorizer.replace(concerning)
    host = canonical_address(host)
    return Explanation(
        authorizer.decide(principal, host, operation, resource_type, name),
        authorizer.explain(principal, host, operation, resource_type, name),
        concerning,
        bool(settings),
    )


async def _settings(cluster: ClusterClient) -> dict[str, str | None]:
    """The settings of a broker that decisions depend on; none if they may not be seen."""
    broker = str(min(cluster.brokers))
    try:
        found = await describe_configs(cluster, ConfigResource.BROKER, [broker], keys=_SETTINGS)
    except NotAuthorized:
        return {}
    return {entry.name: entry.value for entry in found[broker]}
