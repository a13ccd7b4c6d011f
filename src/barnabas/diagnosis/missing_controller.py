"""Why a cluster has no controller, and what to do about it, in words."""

import asyncio
from collections.abc import Collection

from barnabas.client.admin.quorum import KnownVoters, voters_known_to
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError

_ANSWER_MS = 1_000


async def why_no_controller(cluster: ClusterClient, unreachable: Collection[int]) -> str | None:
    """Compare the voters with the nodes that answer; None if the voters are unknown."""

    async def ask(node_id: int) -> KnownVoters:
        try:
            return await voters_known_to(await cluster.connection(node_id), _ANSWER_MS)
        except BarnabasError:
            return KnownVoters(set(), None)

    answering = [node for node in cluster.brokers if node not in unreachable]
    answers = await asyncio.gather(*map(ask, answering))
    # A node that has missed a change knows fewer or other voters; the most is the safest guess.
    voters = max((each.voters for each in answers), key=len, default=set())
    if not voters:
        return None
    disks = dict(voters)
    forgetful = {
        each.itself[0]
        for each in answers
        if each.itself is not None and disks.get(each.itself[0], each.itself[1]) != each.itself[1]
    }
    return explain(disks.keys(), disks.keys() & set(answering) - forgetful, forgetful)


def explain(
    voters: Collection[int], answering: Collection[int], forgetful: Collection[int] = ()
) -> str:
    """What is missing for a majority. The `forgetful` answer too, but not with the disk that votes:
    they don't know what they have promised before."""
    needed = len(voters) // 2 + 1
    counted = f"{len(answering)} of {len(voters)} voters answer"
    lacking = needed - len(answering)
    if lacking <= 0:
        return f"{counted} and have not elected one yet"
    parts = [f"{counted}, {needed} are needed"]
    lost = sorted(forgetful)
    if lost:
        one = len(lost) == 1
        parts.append(
            f"node{'s' * (not one)} {_listed(lost, 'and')} came back with "
            f"{'an empty directory' if one else 'empty directories'}, which can't vote"
        )
    away = sorted(set(voters) - set(answering) - set(forgetful))
    if away:
        parts.append(f"start {_some_of(away, min(lacking, len(away)))}")
    if lacking > len(away):
        count = lacking - len(away)
        parts.append(
            f"restore the data of {_some_of(lost, count)}, or rebuild the cluster from what is "
            "left: barnabas cluster recover --data DIR"
        )
    return "; ".join(parts)


def _some_of(nodes: list[int], count: int) -> str:
    if count == len(nodes):
        return f"node{'s' * (count > 1)} {_listed(nodes, ',')}"
    if count == 1:
        return f"node {_listed(nodes, 'or')}"
    return f"{count} of the nodes {_listed(nodes, ',')}"


def _listed(nodes: list[int], last: str) -> str:
    names = [str(node) for node in nodes]
    if last == "," or len(names) == 1:
        return ", ".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
