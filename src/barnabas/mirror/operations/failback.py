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
from barnabas.mirror.operations.never_copied import never_copied
from barnabas.mirror.operations.status import collect_status
from barnabas.mirror.operations.stored_translations import (
    await_stored_syncs,
    stored_translations,
)
from barnabas.mirror.positions import fetch_positions
from barnabas.quantities import counted, some

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
) -> FailbackReport:
    """Wait for both flows, and take groups back. Raises `InvalidArgument` if records are left.

    The flow's topics are those that both flows have to copy.
    """
    back = returning_flow(flow)
    source = clients.required_source()
    backwards = MirrorClients(clients.target, source)
    deadline = monotonic() + wait_s
    while True:
        left = [*await _left(flow, clients), *await _left(back, backwards)]
        if not left:
            break
        if monotonic() > deadline:
            raise InvalidArgument(
                f"not everything is copied after {wait_s:g} s ({'; '.join(left)}): stop the "
                f"producers of {flow.target.name}, check that both flows run, and give --topics "
                "and --exclude as to `mirror run`"
            )
        await asyncio.sleep(_LOOK_S)
    await asyncio.gather(await_stored_syncs(flow, clients.target), await_stored_syncs(back, source))
    forth = BackwardRoute(flow, clients.target)
    await forth.refresh()
    routes = Routes(await stored_translations(back, source), forth.translations)
    sync = GroupSync(settings or GroupSettings(), clients.target, source, routes)
    return FailbackReport((await sync.sync(monotonic())).groups)


async def _left(flow: Flow, clients: MirrorClients) -> list[str]:
    """What a flow has yet to copy, in words."""
    found = await collect_status(flow, clients)
    missing = await never_copied(flow, clients)
    left = []
    if not found.mirrored:
        left.append(f"{flow.name} has copied nothing yet")
    elif found.lag is None:
        left.append(f"{flow.name} has a partition that {flow.source.name} does not have")
    elif found.lag:
        left.append(f"{flow.name}: {counted(found.lag, 'offset')}")
    if missing:
        left.append(f"{flow.name} has copied nothing of {some(missing)}")
    return left
