"""How long the largest request of each API keeps a node's event loop.

    python -m benchmarks turns [--quick]

Every array of every API, in its newest version, has as many elements as the listener takes. A turn
is measured in CPU time of the loop's thread, and the shorter of a few attempts counts: it is what
other clients of the node wait for. The rows are the ten longest; the rest are shorter.

The promise: no turn takes 50 ms, on an interpreter that was compiled with profiles.
"""

import tempfile
from pathlib import Path

from benchmarks.bench import Bench, Row
from benchmarks.brokers import BARNABAS
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.hostile.largest_fields import frame, of_many_elements
from tests.hostile.largest_requests import longest_turn
from tests.hostile.measured_broker import PROMISED_TURN_S, MeasuredNode

_SHOWN = 10
_QUICK = 20


def measure(bench: Bench) -> list[Row]:
    cases = list(of_many_elements())[: _QUICK if bench.quick else None]
    took: list[tuple[float, str]] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        MeasuredNode(Path(directory)) as node,
    ):
        with RawClient(node.host, node.port) as client:
            create_topic(client, "t")
            find_coordinator(client, "g")
        for case in cases:
            turn_s, _ = longest_turn(
                [node],
                frame(case),
                lambda: RawClient(node.host, node.port),
                enough_s=PROMISED_TURN_S,
            )
            took.append((turn_s, str(case)))
    longest = sorted(took, reverse=True)[:_SHOWN]
    promise = PROMISED_TURN_S * 1e3
    return [
        Row(f"longest turn, {case}", "ms", {BARNABAS: turn_s * 1e3}, at_most=promise)
        for turn_s, case in longest
    ]
