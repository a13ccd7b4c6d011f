"""A user who is signed in, and what they may do with subjects.

A subject is a resource like a topic, with the name `_schemas:SUBJECT`: Kafka's rules have no other
type for it, and any tool for rules can write them. What a user may do with the topic of the schemas
itself, they may do with all subjects, unless a rule about a subject denies it.
"""

from dataclasses import dataclass

from barnabas.metadata.acl import Acl
from barnabas.registry.model.errors import denied
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer
from barnabas.security.principal import USER, Principal
from barnabas.wire.acl_codes import AclOperation, ResourceType

_EVERYTHING = frozenset(
    (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER_CONFIGS,
    )
)
"""What a registry asks for. A rule that denies a subject does not stop a user with all of it: it
may be a super user, for whom brokers look at no rules."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    user: str
    host: str
    topic: str
    """That of the schemas."""
    operations: frozenset[AclOperation]
    """What brokers let the user do with this topic."""
    rules: StandardAuthorizer

    def may(self, operation: AclOperation, subject: str) -> bool:
        """Whether they may do this with a subject, or with what belongs to none."""
        if not subject or self.operations >= _EVERYTHING:
            return operation in self.operations
        name = f"{self.topic}:{subject}"
        principal = Principal(USER, self.user)
        verdict = self.rules.decide(principal, self.host, operation, ResourceType.TOPIC, name)
        if verdict.allowed:
            return True
        return operation in self.operations and not isinstance(verdict.decided_by, Acl)

    def check(self, operation: AclOperation, subject: str) -> None:
        """Raises `RegistryRefusal` with the rule that would allow it."""
        if not self.may(operation, subject):
            name = f"{self.topic}:{subject}" if subject else self.topic
            raise denied(self.user, operation.name, subject, name)
