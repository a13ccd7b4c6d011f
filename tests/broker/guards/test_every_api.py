"""Every API is refused to a user without rights, and served to one with exactly the right ones.

The requests are those of `tests/broker/handlers/test_every_api.py`, where every route has one. A
route that has no entry here fails a test.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.broker.guards.guard import nodes_only
from barnabas.broker.guards.table import GUARDS
from barnabas.broker.net.peer_proof import PeerIdentity
from barnabas.broker.node import Node
from barnabas.broker.routes import routes
from barnabas.wire.acl_codes import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Struct
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.handlers.test_every_api import NODE, REQUESTS, Known, Make, _offset_commit
from tests.support.access import AUTHORIZER, LocalUser, allow
from tests.support.wait import wait_until

SETTINGS = {
    **AUTHORIZER,
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}

DENIED = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
TRANSACTION, CLUSTER = ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
READ, WRITE, CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
DELETE, ALTER, DESCRIBE = AclOperation.DELETE, AclOperation.ALTER, AclOperation.DESCRIBE

Right = tuple[AclOperation, ResourceType, str]
Rights = Callable[[int], list[Right]]


def of_topic(*operations: AclOperation) -> Rights:
    return lambda _: [(operation, TOPIC, "t") for operation in operations]


def of_group(operation: AclOperation) -> Rights:
    return lambda _: [(operation, GROUP, "g")]


def of_cluster(operation: AclOperation) -> Rights:
    return lambda _: [(operation, CLUSTER, CLUSTER_NAME)]


def none(_: int) -> list[Right]:
    return []


RIGHTS: dict[str, Rights] = {
    "Produce": of_topic(WRITE),
    "Fetch": of_topic(READ),
    "ListOffsets": of_topic(DESCRIBE),
    "OffsetForLeaderEpoch": of_topic(DESCRIBE),
    "DeleteRecords": of_topic(DELETE),
    "DescribeProducers": of_topic(READ),
    "Metadata": lambda _: [(DESCRIBE, TOPIC, "t"), (DESCRIBE, TOPIC, "not/legal")],
    "DescribeTopicPartitions": lambda _: [(DESCRIBE, TOPIC, "t"), (DESCRIBE, TOPIC, "nowhere")],
    "CreateTopics": lambda version: [
        (CREATE, TOPIC, f"created-{version}"),
        (CREATE, TOPIC, "not/legal"),
    ],
    "CreatePartitions": of_topic(ALTER),
    "DeleteTopics": lambda _: [(DELETE, TOPIC, "nowhere")],
    "FindCoordinator": lambda version: [
        (DESCRIBE, GROUP, "g"),
        *([(DESCRIBE, GROUP, "h")] if version >= 4 else []),
    ],
    "JoinGroup": lambda version: [(READ, GROUP, f"joined-{version}")],
    "SyncGroup": of_group(READ),
    "Heartbeat": of_group(READ),
    "LeaveGroup": of_group(READ),
    "DescribeGroups": lambda _: [(DESCRIBE, GROUP, "g"), (DESCRIBE, GROUP, "h")],
    "ConsumerGroupHeartbeat": lambda version: [
        (READ, GROUP, f"consumers-{version}"),
        (DESCRIBE, TOPIC, "t"),
    ],
    "ConsumerGroupDescribe": lambda _: [(DESCRIBE, GROUP, "g"), (DESCRIBE, GROUP, "h")],
    "ListGroups": of_group(DESCRIBE),
    "DeleteGroups": lambda _: [(DELETE, GROUP, "nowhere"), (DELETE, GROUP, "nowhere else")],
    "OffsetCommit": lambda _: [(READ, GROUP, "g"), (READ, TOPIC, "t")],
    "OffsetFetch": lambda _: [(DESCRIBE, GROUP, "g"), (DESCRIBE, TOPIC, "t")],
    "OffsetDelete": lambda _: [(DELETE, GROUP, "emptied"), (READ, TOPIC, "t")],
    "ShareGroupHeartbeat": lambda _: [(READ, GROUP, "sg"), (DESCRIBE, TOPIC, "t")],
    "ShareGroupDescribe": lambda _: [(DESCRIBE, GROUP, "sg"), (DESCRIBE, GROUP, "g")],
    "ShareFetch": lambda _: [(READ, GROUP, "sg"), (READ, TOPIC, "t")],
    "ShareAcknowledge": lambda _: [(READ, GROUP, "sg")],
    "DescribeShareGroupOffsets": lambda _: [(DESCRIBE, GROUP, "g"), (DESCRIBE, TOPIC, "t")],
    "AlterShareGroupOffsets": lambda _: [(READ, GROUP, "g"), (READ, TOPIC, "t")],
    "DeleteShareGroupOffsets": lambda _: [(DELETE, GROUP, "g"), (READ, TOPIC, "t")],
    "InitProducerId": lambda version: [(WRITE, TRANSACTION, f"of-{version}")],
    "AddPartitionsToTxn": lambda _: [(WRITE, TRANSACTION, "unknown"), (WRITE, TOPIC, "t")],
    "AddOffsetsToTxn": lambda _: [(WRITE, TRANSACTION, "unknown"), (READ, GROUP, "g")],
    "EndTxn": lambda _: [(WRITE, TRANSACTION, "unknown")],
    "TxnOffsetCommit": lambda _: [
        (WRITE, TRANSACTION, "unknown"),
        (READ, GROUP, "g"),
        (READ, TOPIC, "t"),
    ],
    "WriteTxnMarkers": of_cluster(ALTER),
    "DescribeTransactions": lambda _: [
        (DESCRIBE, TRANSACTION, "unknown"),
        (DESCRIBE, TRANSACTION, "some"),
    ],
    "ListTransactions": lambda _: [(DESCRIBE, TRANSACTION, "some")],
    "DescribeConfigs": lambda _: [
        (AclOperation.DESCRIBE_CONFIGS, TOPIC, "t"),
        (AclOperation.DESCRIBE_CONFIGS, TOPIC, "nowhere"),
        (AclOperation.DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME),
    ],
    "AlterConfigs": of_topic(AclOperation.ALTER_CONFIGS),
    "IncrementalAlterConfigs": of_topic(AclOperation.ALTER_CONFIGS),
    "ListConfigResources": of_cluster(AclOperation.DESCRIBE_CONFIGS),
    "DescribeClientQuotas": of_cluster(AclOperation.DESCRIBE_CONFIGS),
    "AlterClientQuotas": of_cluster(AclOperation.ALTER_CONFIGS),
    "DescribeQuorum": of_cluster(DESCRIBE),
    "DescribeLogDirs": of_cluster(DESCRIBE),
    "ListPartitionReassignments": of_cluster(DESCRIBE),
    "DescribeAcls": of_cluster(DESCRIBE),
    "DescribeUserScramCredentials": of_cluster(DESCRIBE),
    "CreateAcls": of_cluster(ALTER),
    "DeleteAcls": of_cluster(ALTER),
    "AlterUserScramCredentials": of_cluster(ALTER),
    "AlterPartitionReassignments": of_cluster(ALTER),
    "AlterReplicaLogDirs": of_cluster(ALTER),
    "ElectLeaders": of_cluster(ALTER),
    "UpdateFeatures": of_cluster(ALTER),
    "UnregisterBroker": of_cluster(ALTER),
    "AddRaftVoter": of_cluster(ALTER),
    "RemoveRaftVoter": of_cluster(ALTER),
    "CreateDelegationToken": lambda version: (
        [(AclOperation.CREATE_TOKENS, ResourceType.USER, "User:bob")] if version >= 3 else []
    ),
    # What everybody may ask. Whose tokens they are is another question.
    "RenewDelegationToken": none,
    "ExpireDelegationToken": none,
    "DescribeDelegationToken": none,
    "DescribeCluster": none,
    "GetTelemetrySubscriptions": none,
    "PushTelemetry": none,
    "ApiVersions": none,
    "SaslHandshake": none,
    "SaslAuthenticate": none,
}
"""The rights that Kafka documents for each API, and that the request of the test needs."""

FOR_CLIENTS = {"AddPartitionsToTxn": 3}
"""The last version of clients, where later ones are for nodes."""
FROM = {"Produce": 3, "DescribeLogDirs": 3}
"""The first version that does something, or that has an error; before, Kafka too shows nothing."""
LISTS = {
    "ListGroups": lambda r: [group.group_id for group in r.groups],
    "ListTransactions": lambda r: [state.transactional_id for state in r.transaction_states],
}
"""APIs that refuse nothing, and show what may be seen."""

NAMES = {route.request_type.__name__.removesuffix("Request"): route for route in routes()}
BETWEEN_NODES = {
    name for name, route in NAMES.items() if GUARDS.get(route.request_type) is nodes_only
}


class Here(Known):
    """The topic of the node in this process."""

    def __init__(self, node: Node) -> None:
        self.name = "t"
        self.topic_id = node.image.topics["t"].topic_id


def codes(part: Any) -> Iterator[int]:
    """Every error code in a response."""
    for name in part.__slots__:
        value = getattr(part, name)
        if name.endswith("error_code"):
            yield value
        elif isinstance(value, Struct):
            yield from codes(value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Struct):
                    yield from codes(each)


def is_refused(name: str, response: Any) -> bool:
    if name in LISTS:
        return not LISTS[name](response)
    return not DENIED.isdisjoint(codes(response))


@pytest.fixture(scope="module")
def known(local_node: Node) -> Here:
    root = LocalUser(local_node, "root")
    known = Here(local_node)
    for key_type, key in ((0, "g"), (1, "some")):
        asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        wait_until(
            lambda asked=asked: not root.ask(asked).coordinators[0].error_code, "no coordinator"
        )
    some = InitProducerIdRequest("some", 60_000)
    wait_until(lambda: not root.ask(some).error_code, "no coordinator of transactions")
    for group in ("g", "emptied"):
        commit = _offset_commit(known, 9, group)
        wait_until(
            lambda commit=commit: not root.ask(commit, 9).topics[0].partitions[0].error_code,
            "no coordinator",
        )
    return known


def test_no_route_is_forgotten() -> None:
    assert GUARDS.keys() >= {route.request_type for route in routes()}
    assert NAMES.keys() <= RIGHTS.keys() | BETWEEN_NODES


def versions(request_type: type[Request[Any]], name: str) -> list[int]:
    first = max(request_type.MIN_VERSION, FROM.get(name, 0))
    last = FOR_CLIENTS.get(name, request_type.MAX_VERSION)
    return sorted({first, last})


def _named() -> dict[str, Make]:
    class Nowhere(Known):
        def __init__(self) -> None:
            self.name = ""
            self.topic_id = bytes(16)

    return {type(make(Nowhere(), 0)).__name__.removesuffix("Request"): make for make, _ in REQUESTS}


MAKES = _named()


@pytest.mark.parametrize("name", sorted(RIGHTS.keys() & NAMES.keys()))
def test_exactly_the_documented_rights_are_needed(local_node: Node, known: Here, name: str) -> None:
    alice = LocalUser(local_node, "alice")
    make = MAKES[name]
    for version in versions(NAMES[name].request_type, name):
        rights = RIGHTS[name](version)
        for missing in rights:
            alice.rules(*(allow(*right) for right in rights if right != missing))
            assert is_refused(name, alice.ask(make(known, version), version)), (version, missing)
            if missing[0] in (READ, WRITE, DELETE, ALTER):  # which allow DESCRIBE as well
                weaker = (DESCRIBE, *missing[1:])
                alice.rules(*(allow(*(weaker if each == missing else each)) for each in rights))
                assert is_refused(name, alice.ask(make(known, version), version)), (version, weaker)
        alice.rules(*(allow(*right) for right in rights), allow(READ, TOPIC, "t", user="bob"))
        answer = alice.ask(make(known, version), version)
        assert not is_refused(name, answer), (version, answer)


@pytest.mark.parametrize("name", sorted(BETWEEN_NODES))
def test_what_nodes_send_needs_a_node(local_node: Node, known: Here, name: str) -> None:
    alice = LocalUser(local_node, "alice")
    alice.rules(allow(AclOperation.ALL, CLUSTER, CLUSTER_NAME), allow(AclOperation.ALL, TOPIC, "*"))
    request_type = NAMES[name].request_type
    request = MAKES[name](known, request_type.MAX_VERSION)
    assert CLUSTER_REFUSED in codes(alice.ask(request))
    alice.rules()
    alice.connection.peer = PeerIdentity(NODE, bytes(16))
    assert DENIED.isdisjoint(codes(alice.ask(request)))


CLUSTER_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
