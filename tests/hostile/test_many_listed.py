"""Small requests with large answers: a coordinator that has tens of thousands of groups or of
transactional ids lists and describes them without keeping others waiting."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from typing import Any

import pytest

from barnabas.wire.message import Request
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.hostile.largest_requests import check
from tests.hostile.measured_broker import MeasuredNode
from tests.support.access import CLOSED
from tests.support.sasl import sign_in
from tests.support.wait import wait_until

pytestmark = pytest.mark.long

_MANY = 11_000
_CONNECTIONS = 100
_LARGE_PATTERN = "(a|b|ab|ba|aab|bba|abab)*" * 12 + ".*c"
_BY_NAME = 9
"""The newest version of OffsetCommit that names topics."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredNode]:
    settings = {
        **CLOSED,
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "transactional.ids.max.per.partition": "20000",
    }
    with MeasuredNode(tmp_path_factory.mktemp("many"), settings) as node:
        with RawClient(node.host, node.port) as client:
            create_topic(client, "t")
            find_coordinator(client, "g")
            client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]))
            wait_until(lambda: _is_served(client), "no coordinator of transactions")
            _ask_all(node, (_committed(f"group-{number}") for number in range(_MANY)), _BY_NAME)
            names = [f"transaction-{number}" for number in range(_MANY)]
            names += ["ab" * 15_000 + str(number) for number in range(10)]
            _ask_all(node, (InitProducerIdRequest(name, 60_000) for name in names), 4)
            assert len(client.ask(ListGroupsRequest()).groups) == _MANY
            assert len(client.ask(ListTransactionsRequest()).transaction_states) == len(names)
        yield node
        node.stop()
        assert "Traceback" not in node.log.read_text(), node.log_tail()


def _is_served(client: RawClient) -> bool:
    return not client.ask(InitProducerIdRequest("transaction-0", 60_000), 4).error_code


def _committed(group: str) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(0, 1)
    topic = OffsetCommitRequestTopic("t", partitions=[partition])
    return OffsetCommitRequest(group, topics=[topic])


def _ask_all(node: MeasuredNode, requests: Iterable[Request[Any]], version: int) -> None:
    """Each connection waits for its answers, so there are several."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(RawClient(node.host, node.port)) for _ in range(_CONNECTIONS)
        ]
        asked = 0
        for client, request in zip(cycle(clients), requests, strict=False):
            client.send(request, version)
            asked += 1
        for client in islice(cycle(clients), asked):
            client.receive()


_REQUESTS: dict[str, Request[Any]] = {
    "groups": ListGroupsRequest(),
    "groups in a state": ListGroupsRequest(["Stable"]),
    "transactions": ListTransactionsRequest(),
    "transactions that match": ListTransactionsRequest(transactional_id_pattern=_LARGE_PATTERN),
    "described groups": DescribeGroupsRequest(
        [f"group-{number}" for number in range(_MANY)], include_authorized_operations=True
    ),
    "described transactions": DescribeTransactionsRequest(
        [f"transaction-{number}" for number in range(_MANY)]
    ),
}


@pytest.mark.parametrize("user", ["anybody", "carol"])
@pytest.mark.parametrize("asked", _REQUESTS)
def test_tens_of_thousands_are_listed_in_slices(node: MeasuredNode, asked: str, user: str) -> None:
    def connect() -> RawClient:
        if user == "anybody":
            return RawClient(node.host, node.port)
        client = node.connect(timeout_s=60)
        assert not sign_in(client, "PLAIN", user, "hatter").error_code
        return client

    with connect() as client:
        frame = client.frame(_REQUESTS[asked])
    check(f"{user}: {asked}", [node], frame, connect)
