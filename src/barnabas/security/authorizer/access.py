"""What one client may do, remembered until the rules change."""

from collections.abc import Callable

from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer, Verdict
from barnabas.security.principal import Principal

_MAX_REMEMBERED = 20_000
"""Decisions of one client; a client that names more resources has them decided again."""
_MAX_NAME = 300
"""Characters of a name whose decisions are remembered: names of groups may have megabytes."""


class Access:
    """The decisions about one principal at one host; cheap to ask again."""

    __slots__ = (
        "_any",
        "_authorizer",
        "_decisions",
        "_generation",
        "_on_remembered",
        "host",
        "principal",
    )

    def __init__(
        self,
        authorizer: StandardAuthorizer,
        principal: Principal,
        host: str,
        on_remembered: Callable[[], None],
    ) -> None:
        """`on_remembered` is called with each decision that is kept."""
        self._authorizer = authorizer
        self._on_remembered = on_remembered
        self.principal = principal
        self.host = host
        self._generation = authorizer.generation
        self._decisions: dict[tuple[int, int, str], bool] = {}
        self._any: dict[tuple[int, int], bool] = {}

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        if self._generation != self._authorizer.generation:
            self._forget()
        key = (operation, resource_type, name)
        known = self._decisions.get(key)
        if known is None:
            known = self.decide(operation, resource_type, name).allowed
            if len(name) > _MAX_NAME:
                return known
            if len(self._decisions) >= _MAX_REMEMBERED:
                self._decisions.clear()
            self._decisions[key] = known
            self._on_remembered()
        return known

    def allows_any(self, operation: int, resource_type: int) -> bool:
        """Whether the client may do this to some resource of the type."""
        if self._generation != self._authorizer.generation:
            self._forget()
        key = (operation, resource_type)
        known = self._any.get(key)
        if known is None:
            known = self._authorizer.may_use_any(
                self.principal, self.host, operation, resource_type
            )
            self._any[key] = known
        return known

    def decide(self, operation: int, resource_type: int, name: str) -> Verdict:
        return self._authorizer.decide(self.principal, self.host, operation, resource_type, name)

    def _forget(self) -> None:
        self._generation = self._authorizer.generation
        self._decisions.clear()
        self._any.clear()
