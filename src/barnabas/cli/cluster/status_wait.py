"""Waits until a cluster is healthy, such as between two nodes of a rolling restart."""

import asyncio
from collections import Counter
from time import monotonic

from barnabas.cli.base.command import Session
from barnabas.cli.base.progress import ProgressLine
from barnabas.cli.cluster.status_output import connect_briefly
from barnabas.diagnosis.status import ClusterStatus, collect
from barnabas.errors import BarnabasError

_LOOK_EVERY_S = 0.5


async def wait_until_healthy(session: Session, seconds: float) -> ClusterStatus:
    """The status as soon as it is good, or when the time is up. Raises if the cluster does not
    answer by then, and at once what waiting does not change, such as a wrong password."""
    deadline = monotonic() + seconds
    progress = ProgressLine()
    try:
        while True:
            found: ClusterStatus | None = None
            try:
                async with connect_briefly(session) as cluster:
                    while True:
                        found = await collect(cluster)
                        if found.is_healthy or monotonic() >= deadline:
                            return found
                        progress.show(f"waiting: {what_is_missing(found)}")
                        await asyncio.sleep(_LOOK_EVERY_S)
            except BarnabasError as error:
                if monotonic() >= deadline or not error.retriable:
                    raise
                progress.show(f"waiting: {error}")
            await asyncio.sleep(_LOOK_EVERY_S)
    finally:
        progress.end()


def what_is_missing(status: ClusterStatus) -> str:
    """The problems, and which nodes have replicas that are not in sync."""
    lacking = Counter(
        node
        for each in status.under_replicated.values()
        for node in each.replicas
        if node not in each.isr
    )
    if not lacking:
        return "; ".join(status.problems)
    nodes = ", ".join(f"{count} on node {node}" for node, count in sorted(lacking.items()))
    first = min(status.under_replicated)
    return f"{'; '.join(status.problems)} (replicas not in sync: {nodes}; such as {first})"
