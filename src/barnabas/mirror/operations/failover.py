"""Failover: the target takes over.

    lag is awaited  ->  the flow stops  ->  groups are made ready  ->  what was not copied is said

If the source answers, the lag has to become 0 first: stop its producers. If it is gone, what it had
and was not copied is said as far as it is known. What is left open by the driver is rolled back, so
that readers of the target wait for nothing.

It also remembers where the target ends, as committed offsets of a group: what comes after it is
what `failback` has to bring back.
"""

import asyncio
from dataclasses import dataclass, field
from time import monotonic

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets, fetch_committed
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.coordination.mirror_groups import FAILOVER_SUFFIX
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.groups.backward_route import BackwardRoute, backward_flow
from barnabas.mirror.groups.group_positions import Offsets, Routes, commits_of, has_members
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.group_sync import GroupSync
from barnabas.mirror.groups.stop_request import StopRequest
from barnabas.mirror.names import upstream_topic
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.operations.progress_wait import (
    ProgressWait,
    Remaining,
    ShowProgress,
    show_nothing,
)
from barnabas.mirror.operations.status import (
    GroupStatus,
    PartitionStatus,
    collect_status,
    group_statuses,
    read_checkpoints,
)
from barnabas.mirror.operations.stored_translations import (
    await_stored_syncs,
    stored_translations,
)
from barnabas.mirror.positions import abort_open_transactions, fetch_positions
from barnabas.quantities import counted

_LOOK_S = 0.5


@dataclass
class FailoverReport:
    """What is to be known after a failover."""

    is_source_reachable: bool
    not_copied: list[PartitionStatus] = field(default_factory=list)
    """Partitions whose source has, or had, more than was copied."""
    unknown: list[PartitionStatus] = field(default_factory=list)
    """Partitions of which it is not known where the source ended."""
    groups: list[GroupStatus] = field(default_factory=list)
    rolled_back: int = 0
    """Transactions that the driver had left open."""

    @property
    def records_not_copied(self) -> int:
        """At most: offsets without records count as well."""
        return sum(each.lag or 0 for each in self.not_copied)


def failover_group(flow: Flow) -> str:
    """The group whose committed offsets are where the target ended at the last failover."""
    return f"{flow.group_id}{FAILOVER_SUFFIX}"


async def failover(
    flow: Flow,
    clients: MirrorClients,
    settings: GroupSettings | None = None,
    *,
    wait_s: float = 60.0,
    force: bool = False,
    show: ShowProgress = show_nothing,
) -> FailoverReport:
    """Let the target take over.

    It waits while the lag becomes less and less; `show` is told what is left. Raises
    `InvalidArgument` if lag is left after `wait_s` without progress and `force` is not set, or if
    the flow has copied nothing: heartbeats flow even if no topic of `mirror run --topics` exists.
    """
    if not (await collect_status(flow, clients)).mirrored:
        raise InvalidArgument(
            f"the flow from {flow.source.name} to {flow.target.name} has copied nothing into "
            f"{flow.target.name}: give the names of clusters, and --names, as to `mirror run`, "
            "and check that its --topics name topics that exist"
        )
    if clients.source is not None and not force:
        await _await_lag(flow, clients, ProgressWait(wait_s), show)
        await await_stored_syncs(flow, clients.target)
    await StopRequest(flow, clients.target).send()
    rolled_back = await abort_open_transactions(clients.target, flow)
    await _make_groups_ready(flow, clients, settings or GroupSettings())
    await _remember_ends(flow, clients.target)
    found = await collect_status(flow, clients)
    return FailoverReport(
        found.is_source_reachable,
        [each for each in found.mirrored if each.lag],
        [each for each in found.mirrored if each.lag is None],
        await group_statuses(flow, clients.target),
        rolled_back,
    )


async def _await_lag(
    flow: Flow, clients: MirrorClients, wait: ProgressWait, show: ShowProgress
) -> None:
    while lag := (await collect_status(flow, clients)).lag:
        left = Remaining(offsets=lag)
        if wait.is_in_vain(left, monotonic()):
            raise InvalidArgument(
                f"{counted(lag, 'offset')} of {flow.source.name} not copied, without progress "
                f"for {wait.patience_s:g} s: stop its producers, check that `barnabas mirror "
                "run` is running, or use --force and have them copied when the flow runs again"
            )
        show(f"waiting for {flow.name}: {counted(lag, 'offset')} left")
        await asyncio.sleep(_LOOK_S)


async def _make_groups_ready(flow: Flow, clients: MirrorClients, settings: GroupSettings) -> None:
    if clients.source is None:
        await _commit_checkpoints(flow, clients.target, settings)
        return
    forward = await stored_translations(flow, clients.target)
    other = backward_flow(flow)
    backward = None if other is None else BackwardRoute(other, clients.source)
    if backward is not None:
        await backward.refresh()
    routes = Routes(forward, None if backward is None else backward.translations)
    await GroupSync(settings, clients.source, clients.target, routes).sync(monotonic())


async def _commit_checkpoints(flow: Flow, target: ClusterClient, settings: GroupSettings) -> None:
    """The last word of a source that is gone."""
    by_group: dict[str, list[GroupStatus]] = {}
    for each in await group_statuses(flow, target):
        if settings.includes(each.group) and not has_members(each.state):
            by_group.setdefault(each.group, []).append(each)
    checkpoints = await _retranslated(flow, target)
    for group, statuses in by_group.items():
        there: Offsets = {
            TopicPartition(each.topic, each.partition): each.committed
            for each in statuses
            if each.committed is not None
        }
        offsets = commits_of([each for each in checkpoints if each.group == group], there)
        if offsets:
            await commit_offsets(target, group, offsets)


async def _retranslated(flow: Flow, target: ClusterClient) -> list[CheckpointRecord]:
    """Checkpoints by what is known now, which is more than when they were written.

    Not where records of both flows share a topic: the other flow's offsets are in the source.
    """
    checkpoints = await read_checkpoints(flow, target)
    if flow.names is Names.IDENTITY and flow.provenance:
        return checkpoints
    translations = await stored_translations(flow, target)
    better = []
    for each in checkpoints:
        topic = upstream_topic(flow, each.partition.topic)
        here = TopicPartition(topic or "", each.partition.partition)
        _, offset = translations.translate(here, each.upstream_offset) or (here, 0)
        better.append(each._replace(downstream_offset=max(offset, each.downstream_offset)))
    return better


async def _remember_ends(flow: Flow, target: ClusterClient) -> None:
    copied = list(await fetch_positions(target, flow))
    ends = await list_offsets(target, dict.fromkeys(copied, LATEST)) if copied else {}
    if ends:
        offsets = {each: found.offset for each, found in ends.items()}
        await commit_offsets(target, failover_group(flow), offsets)


async def remembered_ends(flow: Flow, target: ClusterClient) -> dict[TopicPartition, int]:
    """Where the target ended at the last failover; nothing if there was none."""
    return await fetch_committed(target, failover_group(flow))
