"""Every field of every API that the node serves, at the largest size that a request can have.

The requests come from the schema and the route table (`largest_fields.py`): an API that is added
is covered at once. The node must answer or end the connection, must not grow without bound, and no
turn of its event loop may keep other clients waiting.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.hostile.largest_fields import LARGEST_BEFORE_SIGN_IN, Case, cases, frame, served
from tests.hostile.measured_broker import LONGEST_TURN_S, MeasuredNode
from tests.hostile.onlooker import MB, resident

_ATTEMPTS = 10
"""A busy machine's caches make the same work cost up to three times the CPU time, so what takes
longer is asked again: the work itself takes what the shortest attempt took."""
_GROWTH = 512 * MB
"""A request of 100 MiB arrives in a buffer that doubles, and is copied."""
_ANSWER_S = 60.0
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


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _attack(node: MeasuredNode, request: bytes, *, signed_in: bool = True) -> str:
    """Send it, have another client served, and say how it ended."""
    with (
        RawClient(node.host, node.port) as other,
        RawClient(node.host, node.port if signed_in else node.sasl_port) as greedy,
    ):
        try:
            greedy.send_bytes(request)
        except OSError:
            return "closed"
        other.ask(ApiVersionsRequest("other", "1"))
        try:
            greedy.receive_frame()
        except (EOFError, ConnectionError):
            return "closed"
        return "answered"


def _check(node: MeasuredNode, case: Case, *, signed_in: bool = True) -> None:
    request = frame(case) if signed_in else frame(case, LARGEST_BEFORE_SIGN_IN)
    Path(f"/proc/{node.pid}/clear_refs").write_text("5")  # the peak of its memory begins now
    before = resident(node.pid)
    took: list[tuple[float, str]] = []
    while not took or (took[-1][0] >= LONGEST_TURN_S and len(took) < _ATTEMPTS):
        node.turns.reset()
        _attack(node, request, signed_in=signed_in)
        took.append((node.turns.longest_s, node.turns.callback))
    longest_s, callback = min(took)
    assert longest_s < LONGEST_TURN_S, f"{case}: {callback}"
    assert _peak(node.pid) - before < _GROWTH, case


@pytest.mark.parametrize("api", _APIS)
def test_the_largest_fields_keep_no_other_client_waiting(node: MeasuredNode, api: str) -> None:
    for case in cases():
        if case.api == api:
            _check(node, case)


@pytest.mark.parametrize("api", _APIS)
def test_the_largest_fields_before_sign_in(node: MeasuredNode, api: str) -> None:
    for case in cases():
        if case.api == api and case.distinct:
            _check(node, case, signed_in=False)
