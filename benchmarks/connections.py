"""How CPU per message grows with the number of connections, and what a connection holds.

Single-record requests, one under way at a time, each on the next connection: so the load is the
same for any number of them, and what grows is the cost of having them. Memory is shown for Barnabas
alone: the bare broker gives every connection one large buffer for good.
"""

from contextlib import ExitStack

from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.raw_client import RawConnection, check_produced, produce_frame


def measure(bench: Bench) -> list[Row]:
    rows = []
    for count in (1, 500) if bench.quick else (1, 10, 100, 500):

        def run(contender: Contender, count: int = count) -> dict[str, float]:
            with contender.running(TOPIC) as broker:
                used, grown = load(broker, count, 5_000 if bench.quick else 20_000)
                return {"us": 1e6 * used, "kB each": grown / count / 1e3}

        values = bench.alternate(f"{count} connections, CPU", run, 1)
        label = f"{count} connection{'s'[: count > 1]}"
        rows.append(Row(f"CPU per request, {label}", "us", values["us"]))
    ours = {BARNABAS: values["kB each"][BARNABAS]}
    rows.append(Row(f"Memory per connection, {label}", "kB", ours))
    return rows


def load(broker: Broker, connections: int, count: int) -> tuple[float, int]:
    """Broker CPU per request, and the memory that came with the connections."""
    frame = produce_frame(TOPIC, bytes(100))
    before = broker.rss_bytes()
    with ExitStack() as stack:
        opened = [
            stack.enter_context(RawConnection(broker.host, broker.port)) for _ in range(connections)
        ]
        for connection in opened:
            check_produced(connection.ask(frame), TOPIC)
        grown = broker.rss_bytes() - before
        used = broker.cpu_s()
        for number in range(count):
            opened[number % connections].ask(frame)
        return (broker.cpu_s() - used) / count, grown
