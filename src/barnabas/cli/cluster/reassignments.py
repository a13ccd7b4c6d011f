"""Replica reassignments, a few at a time, with progress output."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TypeVar

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import say
from barnabas.cli.base.progress import ProgressLine
from barnabas.client.admin.brokers import ClusterDescription
from barnabas.client.admin.placement import Assignment, NodeLocation
from barnabas.client.admin.reassignments import (
    Reassignment,
    alter_reassignments,
    elect_leaders,
    list_reassignments,
)
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    TopicMetadata,
    TopicPartition,
    partitions_of,
)
from barnabas.errors import BarnabasError
from barnabas.quantities import counted, counted_of
from barnabas.wire.errors import ErrorCode

AT_ONCE = 20
"""Partitions that are moved at the same time, so that clients still get their share."""

_LOOK_EVERY_S = 0.3
_PATIENCE_S = 600.0
"""For how long a cluster that does not answer is asked again."""

T = TypeVar("T")


def assignment_of(topics: Mapping[str, TopicMetadata]) -> dict[TopicPartition, list[int]]:
    """Where the replicas of all partitions are, the preferred leader first."""
    return {name: each.replicas for name, each in partitions_of(topics).items()}


def places_of(described: ClusterDescription) -> list[NodeLocation]:
    """The nodes that are there."""
    return [
        NodeLocation(broker.node_id, broker.address.host, broker.rack)
        for broker in described.brokers
        if not broker.fenced
    ]


class Progress(ProgressLine):
    """How many partitions are done."""

    def __init__(self, total: int, what: str) -> None:
        super().__init__()
        self._total = total
        self._what = what

    def show_done(self, done: int, detail: str) -> None:
        self.show(f"{self._what}: {counted_of(done, self._total, 'partition')} done{detail}")


async def carry_out(
    cluster: ClusterClient, plan: Mapping[TopicPartition, Sequence[int]], what: str
) -> None:
    """Move replicas as planned and wait until that is done, then let the preferred ones lead.

    A cluster that does not answer for a while is waited for. Being interrupted leaves what has
    begun to the cluster, which finishes it.
    """
    waiting = dict(sorted(plan.items()))
    moving: set[TopicPartition] = set()
    progress = Progress(len(plan), what)
    try:
        while waiting or moving:
            starting = dict(list(waiting.items())[: AT_ONCE - len(moving)])
            if starting:
                await _persist(progress, partial(begin, cluster, starting))
                moving |= starting.keys()
                for each in starting:
                    del waiting[each]
            under_way = await _persist(progress, partial(list_reassignments, cluster))
            moving &= under_way.keys()
            progress.show_done(len(plan) - len(waiting) - len(moving), _detail(moving, under_way))
            if moving:
                await asyncio.sleep(_LOOK_EVERY_S)
    except asyncio.CancelledError:
        progress.end()
        if moving:
            say(
                f"{counted(len(moving), 'partition')} still moving, {len(waiting)} not started; "
                "see `barnabas cluster status`, or cancel with `barnabas cluster move --cancel`"
            )
        raise
    except (BarnabasError, CommandError) as error:
        progress.end()
        done = len(plan) - len(waiting) - len(moving)
        raise CommandError(
            f"{what} stopped: {error}; {done} of {counted(len(plan), 'partition')} done, "
            f"{len(moving)} still moving (`barnabas cluster status`); run the same command to "
            "continue"
        ) from error
    progress.end()
    await let_preferred_lead(cluster, plan.keys())


async def _persist(progress: Progress, call: Callable[[], Awaitable[T]]) -> T:
    """What the call returns, after some attempts if need be: a move takes longer than many a
    failure lasts."""
    deadline = monotonic() + _PATIENCE_S
    while True:
        try:
            return await call()
        except BarnabasError as error:
            if not error.retriable or monotonic() > deadline:
                raise
            progress.show(f"still trying: {error}")
        await asyncio.sleep(_LOOK_EVERY_S)


def _detail(
    moving: Collection[TopicPartition], moves: Mapping[TopicPartition, Reassignment]
) -> str:
    nodes = sorted({node for each in moving for node in moves[each].adding})
    if not nodes:
        return ""
    return f", {len(moving)} catching up on node{'s' * (len(nodes) > 1)} " + ", ".join(
        map(str, nodes)
    )


async def begin(
    cluster: ClusterClient, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> None:
    """Start or cancel moves; raises if one is refused. A deleted topic is not an error."""
    results = await alter_reassignments(cluster, targets)
    errors = [
        error
        for error in results.values()
        if error is not None and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    if errors:
        raise CommandError("; ".join(str(error) for error in errors[:5]))


async def let_preferred_lead(
    cluster: ClusterClient, partitions: Collection[TopicPartition]
) -> None:
    """Elect the preferred replicas, where they are there and in sync."""
    if partitions:
        await elect_leaders(cluster, partitions)


def replicas_on(assignment: Assignment, node_id: int) -> list[TopicPartition]:
    return [each for each, replicas in sorted(assignment.items()) if node_id in replicas]
