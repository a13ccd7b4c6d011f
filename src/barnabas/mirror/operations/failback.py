"""Failback: the source takes over again, with what has come to the target meanwhile.

Two flows bring both sides together, and run while this waits for them:

    A -> B   goes on, and brings what A had and B had not got before A was lost
    B -> A   brings what producers have written to B

Names that are kept need provenance, so that nothing goes back that came from there. `prepare` lets
B -> A begin where B ended at the failover, so that only what is missing is read. `complete` waits
until neither flow has anything left, and takes groups back.
"""

import asyncio
from dataclasses import dataclass, replace
from time import monotonic

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.groups.backward_route import BackwardRoute, backward_flow
from barnabas.mirror.groups.group_positions import Routes
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.group_sync import GroupSync, SyncedGroup
from barnabas.mirror.names import remote_topic
from barnabas.mirror.operations.failover import remembered_ends
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.operations.progress_wait import ProgressWait, ShowProgress, show_nothing
from barnabas.mirror.operations.remaining_records import RemainingRecords
from barnabas.mirror.operations.stored_translations import (
    await_stored_syncs,
    stored_translations,
)
from barnabas.mirror.positions import fetch_positions

_LOOK_S = 0.5


@dataclass(frozen=True)
class FailbackReport:
    """Where everything stands after a failback."""

    groups: list[SyncedGroup]


def returning_flow(flow: Flow) -> Flow:
    """The flow that brings back what is missing. Raises `InvalidArgument` if none can."""
    back = backward_flow(flow)
    if back is None:
        raise InvalidArgument(
            f"flow {flow.name} keeps names without provenance, so what came from "
            f"{flow.source.name} can't be told from what did not: run both flows with --provenance"
        )
    return replace(back, topics=flow.topics, exclude=flow.exclude)


async def prepare(flow: Flow, clients: MirrorClients) -> dict[TopicPartition, int]:
    """Let the flow back begin where it has to; returns the positions that were set.

    Positions that it has already stay. Partitions of which no failover has remembered an end begin
    at the beginning, and provenance sorts out what came from there.
    """
    back = returning_flow(flow)
    source = clients.required_source()
    known = await fetch_positions(source, back)
    topics = await source.refresh(None)
    begin = {}
    if back.names is Names.IDENTITY:  # otherwise other topics go back than have come
        for there, end in (await remembered_ends(flow, clients.target)).items():
            here = TopicPartition(remote_topic(back, there.topic), there.partition)
            exists = here.topic in topics and here.partition < len(topics[here.topic].partitions)
            if here not in known and exists:
                begin[here] = end
    if begin:
        await commit_offsets(source, back.group_id, begin)
    return begin


async def complete(
    flow: Flow,
    clients: MirrorClients,
    settings: GroupSettings | None = None,
    *,
    wait_s: float = 60.0,
    show: ShowProgress = show_nothing,
) -> FailbackReport:
    """Wait for both flows, and take groups back. Raises `InvalidArgument` if records are left.

    The flow's topics are those that both flows have to copy. It waits while less and less is left,
    and gives up after `wait_s` without progress; `show` is told what is left.
    """
    back = returning_flow(flow)
    source = clients.required_source()
    remaining = RemainingRecords(flow, clients)
    returning = RemainingRecords(back, MirrorClients(clients.target, source))
    wait = ProgressWait(wait_s)
    while True:
        left = (await remaining.look()).plus(await returning.look())
        if not left.words:
            break
        if wait.is_in_vain(left, monotonic()):
            raise InvalidArgument(
                "not everything is copied, and there was no progress for "
                f"{wait.patience_s:g} s ({'; '.join(left.words)}): stop the producers of "
                f"{flow.target.name}, check that both flows run, and give --topics and --exclude "
                "as to `mirror run`"
            )
        show(f"waiting for both flows: {'; '.join(left.words)}")
        await asyncio.sleep(_LOOK_S)
    await asyncio.gather(await_stored_syncs(flow, clients.target), await_stored_syncs(back, source))
    forth = BackwardRoute(flow, clients.target)
    await forth.refresh()
    routes = Routes(await stored_translations(back, source), forth.translations)
    sync = GroupSync(settings or GroupSettings(), clients.target, source, routes)
    return FailbackReport((await sync.sync(monotonic())).groups)
