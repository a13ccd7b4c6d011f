"""Sends requests at their largest legal size, and sees how long they keep the event loop.

The shortest of several attempts counts: a busy machine's caches make the same work cost up to three
times the CPU time.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.hostile.measured_broker import LONGEST_TURN_S, MeasuredNode
from tests.hostile.onlooker import MB, resident

_ATTEMPTS = 10
GROWTH = 512 * MB
"""A request of 100 MiB arrives in a buffer that doubles, and is copied."""

Connect = Callable[[], RawClient]


def send(node: MeasuredNode, request: bytes, connect: Connect) -> str:
    """Send it, have another client served, and say how it ended."""
    with RawClient(node.host, node.port) as other, connect() as greedy:
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


def check(what: str, node: MeasuredNode, request: bytes, connect: Connect) -> None:
    """No turn of the node's event loop takes long, and its memory stays bounded."""
    Path(f"/proc/{node.pid}/clear_refs").write_text("5")  # the peak of its memory begins now
    before = resident(node.pid)
    took: list[tuple[float, str]] = []
    while not took or (took[-1][0] >= LONGEST_TURN_S and len(took) < _ATTEMPTS):
        node.turns.reset()
        send(node, request, connect)
        took.append((node.turns.longest_s, node.turns.callback))
    longest_s, callback = min(took)
    assert longest_s < LONGEST_TURN_S, f"{what}: {callback}"
    assert _peak(node.pid) - before < GROWTH, what


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
