"""Why a cluster has no controller, and what to do about it, in words."""

import asyncio
from collections.abc import Collection

from barnabas.client.cluster import Cluster
from barnabas.client.quorum import voters_known_to
from barnabas.errors import BarnabasError

_ANSWER_MS = 1_000


async def why_no_controller(cluster: Cluster, unreachable: Collection[int]) -> str | None:
    """Hold those who vote against those who answer; None if nobody tells who votes."""

    async def ask(node_id: int) -> set[int]:
        try:
            return await voters_known_to(await cluster.connection(node_id), _ANSWER_MS)
        except BarnabasError:
            return set()

    answering = [node for node in cluster.brokers if node not in unreachable]
    # A node that has missed a change knows fewer or other voters; the most is the safest guess.
    voters = max(await asyncio.gather(*map(ask, answering)), key=len, default=set())
    return explain(voters, voters & set(answering)) if voters else None


def explain(voters: Collection[int], answering: Collection[int]) -> str:
    """What is missing for a majority."""
    needed = len(voters) // 2 + 1
    counted = f"{len(answering)} of {len(voters)} voters answer"
    lacking = needed - len(answering)
    if lacking <= 0:
        return f"{counted} and have not elected one yet"
    away = [str(node) for node in sorted(set(voters) - set(answering))]
    if lacking == len(away):
        start = f"start node{'s' * (lacking > 1)} {', '.join(away)}"
    elif lacking == 1:
        start = f"start node {', '.join(away[:-1])} or {away[-1]}"
    else:
        start = f"start {lacking} of the nodes {', '.join(away)}"
    return f"{counted}, {needed} are needed; {start}"
