"""The short cut of Produce, for topics to which the client may write.

Anything else takes the ordinary way, which refuses it, or finds the rights for a transaction.
"""

from asyncio import Future
from dataclasses import replace
from typing import Any, TypeVar

from barnabas.broker.guards.guard import Needs
from barnabas.broker.guards.topics import ATTRIBUTES_AT
from barnabas.broker.handlers import produce_single
from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.dispatcher import Route
from barnabas.broker.replica.partition import Partition
from barnabas.records.batch import TRANSACTIONAL
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.messages.produce import ProduceRequest

NodeT = TypeVar("NodeT", bound=Needs)

_WRITE, _TOPIC = AclOperation.WRITE, ResourceType.TOPIC


def with_short_cut(route: Route[NodeT], guarded: Route[NodeT]) -> Route[NodeT]:
    """The guarded route with the short cut that the open one has, if it has one."""
    if route.handle_in_place is None:
        return guarded
    assert route.request_type is ProduceRequest, "another short cut needs a guard of its own"
    return replace(guarded, handle_in_place=_handle)


def _handle(node: Any, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
    access = node.authorization.client(connection)

    def may_write(partition: Partition, records: memoryview) -> bool:
        return (
            len(records) > ATTRIBUTES_AT
            and not records[ATTRIBUTES_AT] & TRANSACTIONAL
            and access.allows(_WRITE, _TOPIC, partition.topic)
        )

    return produce_single.handle(node, frame, connection, may_write)
