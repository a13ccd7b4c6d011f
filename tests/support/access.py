"""Nodes without access rules, and clients of a node in this process that has some."""

import asyncio
from typing import Any

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.guards.table import with_guards
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.node import Node
from barnabas.broker.routes import routes
from barnabas.broker.settings.component_settings import AuthorizerSettings
from barnabas.metadata.acl import Acl
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
}

CLOSED = {
    **AUTHORIZER,
    "super.users": "User:root;User:ANONYMOUS",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}
"""Settings of a `SaslBroker` with access rules, where whoever does not sign in is a super user."""

OPEN = Authorization(AuthorizerSettings("", None, False), lambda: 0)
"""For nodes of a test where everybody may do everything."""


def allow(
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
    *,
    user: str = "alice",
    host: str = "*",
    permission: AclPermission = AclPermission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    return Acl(resource_type, name, pattern, f"User:{user}", host, operation, permission)


class LocalUser:
    """A user with a connection to a node in this process, without a socket."""

    def __init__(self, node: Node, name: str) -> None:
        self.node = node
        dispatcher = Dispatcher(node, with_guards(routes()))
        self._dispatch = dispatcher.dispatch
        self.connection = Connection(dispatcher.dispatch, node.connections)
        self.connection.principal = Principal("User", name)
        self.connection.client_host = "10.0.0.1"

    def rules(self, *acls: Acl) -> None:
        """These are the rules now."""
        assert self.node.authorization.authorizer is not None
        self.node.authorization.authorizer.replace(acls)

    def find_group_coordinator(self, group_id: str) -> None:
        """Let the node create the topic of groups, and load the group's partition."""

        async def found() -> None:
            while isinstance(self.node.groups.find(group_id), ErrorCode):
                await asyncio.sleep(0.01)

        self.ask(FindCoordinatorRequest(coordinator_keys=[group_id]))
        self.node.loop.run_until_complete(asyncio.wait_for(found(), 60))

    def ask(self, request: Request[Any], version: int | None = None) -> Any:
        version = request.MAX_VERSION if version is None else version
        frame = bytearray(b"".join(encode_request(request, version, 7, "test"))[4:])

        async def answered() -> Any:
            answer = self._dispatch(memoryview(frame), self.connection)
            if isinstance(answer, asyncio.Future):
                return await asyncio.wait_for(answer, 60)
            return answer

        answer = self.node.loop.run_until_complete(answered())
        return decode_response(b"".join(answer or ())[4:], request.RESPONSE, version)
