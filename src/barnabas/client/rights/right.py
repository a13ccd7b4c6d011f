"""One right that a program needs."""

from typing import NamedTuple

from barnabas.wire.acl_codes import AclOperation, ResourceType

ANY = "*"
"""The name of all topics, or of all groups."""
_SAMPLE = "rights-check"


class Right(NamedTuple):
    """An operation on a resource; on all whose name begins so, if it is `prefixed`."""

    operation: AclOperation
    resource_type: ResourceType
    name: str
    purpose: str
    """What needs it, such as "dead letters of handler bill"."""
    prefixed: bool = False
    if_missing: bool = False
    """Only while the topic does not exist: the right to create it."""
    is_optional: bool = False
    """Without it the program works, with a warning or without a detail."""
    used: str = ""
    """A name that the program uses, where the rule that it asks for covers others too."""

    @property
    def resource(self) -> tuple[ResourceType, str, bool]:
        return (self.resource_type, self.name, self.prefixed)

    @property
    def is_wide(self) -> bool:
        """Whether it covers names of which none is known to be used: narrower rules may do."""
        return not self.used and (self.prefixed or self.name == ANY)

    @property
    def sample(self) -> str:
        """A name that the right has to cover."""
        if self.used:
            return self.used
        if self.name == ANY:
            return _SAMPLE
        return f"{self.name}{_SAMPLE}" if self.prefixed else self.name


def topic(operation: AclOperation, name: str, purpose: str) -> Right:
    return Right(operation, ResourceType.TOPIC, name, purpose)


def created_topic(name: str, purpose: str) -> Right:
    """To create a topic, unless it exists."""
    return Right(AclOperation.CREATE, ResourceType.TOPIC, name, purpose, if_missing=True)


def group(name: str, purpose: str, *, prefixed: bool = False) -> Right:
    """To join a group and commit its offsets."""
    return Right(AclOperation.READ, ResourceType.GROUP, name, purpose, prefixed=prefixed)


def transactional_id(name: str, purpose: str, *, prefixed: bool = False) -> Right:
    return Right(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, name, purpose, prefixed=prefixed
    )
