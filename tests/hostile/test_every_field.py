"""Every field of every API that the node serves, at the largest size that a request can have.

The requests come from the schema and the route table (`largest_fields.py`): an API that is added
is covered at once. The node must answer or end the connection, must not grow without bound, and no
turn of its event loop may keep other clients waiting.
"""

from collections.abc import Iterator

import pytest

from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.hostile.largest_fields import LARGEST_BEFORE_SIGN_IN, cases, frame, served
from tests.hostile.largest_requests import check
from tests.hostile.measured_broker import MeasuredNode

_APIS = sorted(served())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredNode]:
    with MeasuredNode(tmp_path_factory.mktemp("fields")) as node:
        with RawClient(node.host, node.port) as client:
            create_topic(client, "t")
            find_coordinator(client, "g")
        yield node
        node.stop()
        assert "Traceback" not in node.log.read_text(), node.log_tail()


@pytest.mark.parametrize("api", _APIS)
def test_the_largest_fields_keep_no_other_client_waiting(node: MeasuredNode, api: str) -> None:
    for case in cases():
        if case.api == api:
            check(str(case), [node], frame(case), lambda: RawClient(node.host, node.port))


@pytest.mark.parametrize("api", _APIS)
def test_the_largest_fields_before_sign_in(node: MeasuredNode, api: str) -> None:
    for case in cases():
        if case.api == api and case.distinct:
            check(str(case), [node], frame(case, LARGEST_BEFORE_SIGN_IN), node.connect)
