"""Decisions with the semantics of Kafka's StandardAuthorizer.

1. A super user may do everything.
2. A rule applies if its pattern, principal (or `User:*`), host (or `*`) and operation match.
   An IPv6 address matches in any notation, which in Kafka it does not. ALL matches every
   operation. ALLOW of READ, WRITE, DELETE or ALTER also allows DESCRIBE, and ALLOW of
   ALTER_CONFIGS also DESCRIBE_CONFIGS; a DENY denies only what it names.
3. If a DENY applies, the answer is no; otherwise if an ALLOW applies, yes.
4. Otherwise no; but yes with `allow.everyone.if.no.acl.found` if no rule's pattern matches the
   resource, whomever such rules are about.
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.metadata.acl import Acl
from barnabas.security.authorizer.resource_type import may_use_any
from barnabas.security.authorizer.rule_index import RuleIndex
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import WILDCARD, WILDCARD_PRINCIPAL, AclOperation

_OPERATIONS_THAT_ALLOW = {
    AclOperation.DESCRIBE: (
        AclOperation.DESCRIBE,
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.ALL,
    ),
    AclOperation.DESCRIBE_CONFIGS: (
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.ALL,
    ),
}

SUPER_USER = "SuperUser"
DEFAULT_ALLOW = "DefaultAllow"
DEFAULT_DENY = "DefaultDeny"


class Verdict(NamedTuple):
    """An answer, and what decided it: a rule, or `SUPER_USER`, `DEFAULT_ALLOW`, `DEFAULT_DENY`."""

    allowed: bool
    decided_by: Acl | str

    def __str__(self) -> str:
        """As in the log of a Kafka broker."""
        rule = self.decided_by
        return rule if isinstance(rule, str) else f"MatchingAcl(acl={rule})"


class StandardAuthorizer:
    """The rules of a cluster, and decisions by them."""

    def __init__(
        self, super_users: Iterable[Principal] = (), *, allow_if_no_acl_found: bool = False
    ) -> None:
        self.super_users = frozenset(super_users)
        self.allow_if_no_acl_found = allow_if_no_acl_found
        self.generation = 0
        """Changes with the rules: what was decided before may not hold any more."""
        self._rules = RuleIndex()

    # -- the rules ---------------------------------------------------------------------------------

    def add(self, acl: Acl) -> None:
        self._rules.add(acl)
        self.generation += 1

    def remove(self, acl: Acl) -> None:
        self._rules.remove(acl)
        self.generation += 1

    def replace(self, acls: Iterable[Acl]) -> None:
        """Take these rules in place of those that were there."""
        self._rules.clear()
        for acl in acls:
            self._rules.add(acl)
        self.generation += 1

    # -- decisions ---------------------------------------------------------------------------------

    def decide(
        self, principal: Principal, host: str, operation: int, resource_type: int, name: str
    ) -> Verdict:
        """May `principal`, from `host`, do this to the resource?

        Here and below `host` is as `canonical_address` writes it.
        """
        if principal in self.super_users:
            return Verdict(True, SUPER_USER)
        hosts = (host, WILDCARD)
        allowing = _operations_that_allow(operation)
        denying = (operation, AclOperation.ALL)
        allow: Acl | None = None
        for about in (str(principal), WILDCARD_PRINCIPAL):
            for acl, rule_host in self._rules.about(about, resource_type, name):
                if rule_host not in hosts:
                    continue
                if acl.is_deny:
                    if acl.operation in denying:
                        return Verdict(False, acl)
                elif allow is None and acl.operation in allowing:
                    allow = acl
        if allow is not None:
            return Verdict(True, allow)
        if self.allow_if_no_acl_found and not any(self._rules.concerning(resource_type, name)):
            return Verdict(True, DEFAULT_ALLOW)
        return Verdict(False, DEFAULT_DENY)

    def may_use_any(
        self, principal: Principal, host: str, operation: int, resource_type: int
    ) -> bool:
        """Is there a name for which `decide` could say yes?"""
        # Kafka asks for a fixed name first, so that super users are not held up by DENY rules.
        if self.decide(principal, host, operation, resource_type, "hardcode").allowed:
            return True
        return may_use_any(
            acl
            for about in (str(principal), WILDCARD_PRINCIPAL)
            for acl, rule_host in self._rules.all_about(about, resource_type)
            if rule_host in (host, WILDCARD) and acl.operation in (operation, AclOperation.ALL)
        )

    def explain(
        self, principal: Principal, host: str, operation: int, resource_type: int, name: str
    ) -> list[Acl]:
        """The rules that apply to a request, DENY first: the first one decides."""
        names = (str(principal), WILDCARD_PRINCIPAL)
        allowing = _operations_that_allow(operation)
        applying = [
            acl
            for acl, rule_host in self._rules.concerning(resource_type, name)
            if acl.principal in names
            and rule_host in (host, WILDCARD)
            and acl.operation in ((operation, AclOperation.ALL) if acl.is_deny else allowing)
        ]
        return sorted(applying, key=lambda acl: not acl.is_deny)


def _operations_that_allow(operation: int) -> tuple[int, ...]:
    implied = _OPERATIONS_THAT_ALLOW.get(AclOperation(operation))
    return implied or (operation, AclOperation.ALL)
