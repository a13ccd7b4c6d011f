"""The access rules on a node: they follow the metadata, and judge requests.

A connection on which a node has authenticated may do everything: what it sends for a client was
judged by the node that the client is connected to.
"""

from collections.abc import Callable, Iterable

from barnabas.broker.access.denial_log import DenialLog
from barnabas.broker.access.request_access import FULL_ACCESS, RequestAccess
from barnabas.broker.net.connection import Connection
from barnabas.broker.settings.component_settings import AuthorizerSettings
from barnabas.broker.settings.super_users import super_users
from barnabas.metadata.acl import Acl
from barnabas.security.authorizer.access import Access
from barnabas.security.authorizer.access_cache import AccessCache
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer


class Authorization:
    """The authorizer of a node, if it has one."""

    def __init__(self, settings: AuthorizerSettings, now_ms: Callable[[], int]) -> None:
        self.authorizer: StandardAuthorizer | None = None
        if settings.class_name:
            self.authorizer = StandardAuthorizer(
                super_users(settings.super_users),
                allow_if_no_acl_found=settings.allow_if_no_acl_found,
            )
        self._denials = DenialLog(now_ms)
        self._cache = None if self.authorizer is None else AccessCache(self.authorizer)
        self._known = {} if self._cache is None else self._cache.known

    @property
    def is_enabled(self) -> bool:
        return self.authorizer is not None

    @property
    def generation(self) -> int:
        """Changes with the rules."""
        return 0 if self.authorizer is None else self.authorizer.generation

    # -- the rules ---------------------------------------------------------------------------------

    def restore(self, acls: Iterable[Acl]) -> None:
        """The metadata was replaced by a snapshot."""
        if self.authorizer is not None:
            self.authorizer.replace(acls)

    def changed(self, acl: Acl, added: bool) -> None:
        """A rule was added or, with False, removed."""
        if self.authorizer is not None:
            change = self.authorizer.add if added else self.authorizer.remove
            change(acl)

    # -- requests ----------------------------------------------------------------------------------

    def of(self, connection: Connection, api: str) -> RequestAccess:
        """What the client of a connection may do; `api` names the request in the log."""
        if self.authorizer is None or connection.peer is not None:
            return FULL_ACCESS
        return RequestAccess(self.client(connection), self._denials, api)

    def client(self, connection: Connection) -> Access:
        """The decisions about the client of a connection. There must be an authorizer."""
        access = self._known.get((connection.principal, connection.client_host))
        if access is None:
            assert self._cache is not None
            access = self._cache.add(connection.principal, connection.client_host)
        return access
