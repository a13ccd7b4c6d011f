"""Access rules as the cluster keeps them, and filters that select some of them."""

from typing import NamedTuple

from barnabas.wire.acl_codes import (
    WILDCARD,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)


class Acl(NamedTuple):
    """One rule: a principal may, or may not, do an operation on resources, from a host."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    @property
    def is_deny(self) -> bool:
        return self.permission == AclPermission.DENY

    def __str__(self) -> str:
        """As in the log of a Kafka broker."""
        return (
            f"StandardAcl[resourceType={ResourceType(self.resource_type).name}, "
            f"resourceName={self.resource_name}, "
            f"patternType={PatternType(self.pattern_type).name}, principal={self.principal}, "
            f"host={self.host}, operation={AclOperation(self.operation).name}, "
            f"permissionType={AclPermission(self.permission).name}]"
        )


class AclFilter(NamedTuple):
    """Which rules are meant; None, and the codes ANY, mean all."""

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = AclOperation.ANY
    permission: int = AclPermission.ANY

    @property
    def only(self) -> Acl | None:
        """The one rule that is meant, if the filter names all of it."""
        name, principal, host = self.resource_name, self.principal, self.host
        if (
            name is None
            or principal is None
            or host is None
            or self.resource_type == ResourceType.ANY
            or self.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED)
            or self.operation == AclOperation.ANY
            or self.permission == AclPermission.ANY
        ):
            return None
        return Acl(
            self.resource_type,
            name,
            self.pattern_type,
            principal,
            host,
            self.operation,
            self.permission,
        )

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission in (AclPermission.ANY, acl.permission)
        )

    def _matches_name(self, acl: Acl) -> bool:
        """MATCH selects the rules that concern a resource of the name; other patterns compare."""
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        name = self.resource_name
        if name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, WILDCARD)
