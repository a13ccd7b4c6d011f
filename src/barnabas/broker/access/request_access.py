"""What the sender of one request may do."""

from barnabas.broker.access.denial_log import DenialLog
from barnabas.security.authorizer.access import Access
from barnabas.wire.acl_codes import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclOperation,
    ResourceType,
)


class RequestAccess:
    """Questions of one request; denials are logged, unless another right may do as well."""

    __slots__ = ("_access", "_api", "_denials")

    def __init__(self, access: Access | None, denials: DenialLog | None, api: str) -> None:
        """Without `access` everything is allowed."""
        self._access = access
        self._denials = denials
        self._api = api

    @property
    def is_full(self) -> bool:
        return self._access is None

    def allows(
        self, operation: AclOperation, resource_type: ResourceType, name: str, *, log: bool = True
    ) -> bool:
        access = self._access
        if access is None or access.allows(operation, resource_type, name):
            return True
        if log and self._denials is not None:
            self._denials.say(access, operation, resource_type, name, self._api)
        return False

    def topic(self, operation: AclOperation, name: str, *, log: bool = True) -> bool:
        return self.allows(operation, ResourceType.TOPIC, name, log=log)

    def group(self, operation: AclOperation, name: str, *, log: bool = True) -> bool:
        return self.allows(operation, ResourceType.GROUP, name, log=log)

    def transactional_id(self, operation: AclOperation, name: str, *, log: bool = True) -> bool:
        return self.allows(operation, ResourceType.TRANSACTIONAL_ID, name, log=log)

    def cluster(self, operation: AclOperation, *, log: bool = True) -> bool:
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME, log=log)

    def any_topic(self, operation: AclOperation) -> bool:
        """Whether there may be a topic for which the operation is allowed."""
        return self._access is None or self._access.allows_any(operation, ResourceType.TOPIC)

    def operations(self, resource_type: ResourceType, name: str) -> int:
        """What may be done to a resource, as the bit field that answers carry."""
        return sum(
            1 << operation
            for operation in SUPPORTED_OPERATIONS[resource_type]
            if self.allows(operation, resource_type, name, log=False)
        )

    @property
    def cluster_operations(self) -> int:
        """As `operations` for the cluster: nothing, unless it may be described."""
        if not self.cluster(AclOperation.DESCRIBE, log=False):
            return 0
        return self.operations(ResourceType.CLUSTER, CLUSTER_NAME)


FULL_ACCESS = RequestAccess(None, None, "")
"""Of nodes, and of everybody where no authorizer is set."""
