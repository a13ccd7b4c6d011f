"""Sends requests at their largest legal size, and sees how long they keep the event loop.

The shortest of several attempts counts: a busy machine's caches make the same work cost up to three
times the CPU time.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.hostile.measured_broker import LONGEST_TURN_S, Measured
from tests.hostile.onlooker import MB, resident

_ATTEMPTS = 10
_GROWTH = 512 * MB
"""A request of 100 MiB arrives in a buffer that doubles, and is copied."""

Connect = Callable[[], RawClient]


def check(what: str, nodes: Sequence[Measured], request: bytes, connect: Connect) -> None:
    """On no node does a turn of the event loop take long, and the memory of all stays bounded."""
    before = {}
    for node in nodes:
        Path(f"/proc/{node.pid}/clear_refs").write_text("5")  # the peak of its memory begins now
        before[node.pid] = resident(node.pid)
    longest_s, callback = longest_turn(nodes, request, connect, LONGEST_TURN_S)
    assert longest_s < LONGEST_TURN_S, f"{what}: {callback}"
    for node in nodes:
        assert _peak(node.pid) - before[node.pid] < _GROWTH, what


def longest_turn(
    nodes: Sequence[Measured], request: bytes, connect: Connect, enough_s: float
) -> tuple[float, str]:
    """The longest turn on any of the nodes, and what took so long in it, in the shortest of several
    attempts; the first attempt that is below `enough_s` is the last one."""
    took: list[tuple[float, str]] = []
    while not took or (took[-1][0] >= enough_s and len(took) < _ATTEMPTS):
        for node in nodes:
            node.turns.reset()
        _attack(nodes, request, connect)
        took.append(max((node.turns.longest_s, node.turns.callback) for node in nodes))
    return min(took)


def _attack(nodes: Sequence[Measured], request: bytes, connect: Connect) -> None:
    """Send it, have other clients served meanwhile, and wait for the answer or the end."""
    with ExitStack() as stack:
        others = [stack.enter_context(RawClient(node.host, node.port)) for node in nodes]
        greedy = stack.enter_context(connect())
        try:
            greedy.send_bytes(request)
        except OSError:
            return
        for other in others:
            other.ask(ApiVersionsRequest("other", "1"))
        with suppress(EOFError, ConnectionError):
            greedy.receive_frame()


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
