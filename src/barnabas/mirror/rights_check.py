"""Refuses to start a flow that lacks a right, where it signs in.

An expression matches topics that the flow need not see, so there the topics count that the source
lists: every one of them is read, and written in the target if it is there. A topic that the target
refuses to create is left out, with a warning.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.check import denial_of
from barnabas.client.rights.right import Right, topic
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.names import is_heartbeats, remote_topic
from barnabas.mirror.rights import source_rights, target_rights
from barnabas.mirror.topic_plan import flows
from barnabas.wire.acl_codes import AclOperation, ResourceType

_log = logging.getLogger("barnabas.mirror")


async def check_rights(
    mirrored: ConfiguredFlow, source: ClusterClient, target: ClusterClient
) -> None:
    """Raise the error that names what is missing, and the commands that grant it."""
    flow = mirrored.flow
    if not flow.source.security and not flow.target.security:
        return
    reads, writes = await listed_rights(flow, source, target)
    if flow.source.security:
        declared = source_rights(mirrored)
        await _raise_denial(flow, flow.source, source, with_listed(declared, reads))
        if not reads:
            await _warn_of_nothing(flow, source, declared)
    if flow.target.security:
        rights = with_listed(target_rights(mirrored), writes)
        await _raise_denial(flow, flow.target, target, rights)


async def listed_rights(
    flow: Flow, source: ClusterClient, target: ClusterClient
) -> tuple[list[Right], list[Right]]:
    """Those for the topics that the clusters list: in the source, and in the target."""
    names = [name for name in await source.refresh(None) if _counts(flow, name)]
    return list(_reads(flow, names)), await _writes(flow, target, names)


def with_listed(declared: Sequence[Right], listed: Iterable[Right]) -> list[Right]:
    """What is declared, and the rights for listed topics that it does not include by name."""
    known = {(each.operation, each.sample) for each in declared if not each.is_optional}
    return [*declared, *(each for each in listed if (each.operation, each.sample) not in known)]


def _counts(flow: Flow, name: str) -> bool:
    """Without heartbeats the rest is copied."""
    return flows(flow, name) and not is_heartbeats(flow, name)


def _reads(flow: Flow, names: Iterable[str]) -> Iterator[Right]:
    for name in names:
        yield topic(AclOperation.READ, name, f"topics of flow {flow.name}")


async def _writes(flow: Flow, target: ClusterClient, names: Iterable[str]) -> list[Right]:
    copies = [remote_topic(flow, name) for name in names]
    there = await target.refresh(copies) if copies else {}
    return [
        topic(operation, name, f"topics of flow {flow.name}")
        for name, each in there.items()
        if not each.error_code
        for operation in (AclOperation.READ, AclOperation.WRITE)
    ]


async def _raise_denial(
    flow: Flow, end: ClusterEnd, cluster: ClusterClient, rights: Sequence[Right]
) -> None:
    denied = await denial_of(cluster, rights, _who(flow, end))
    if denied is not None:
        raise denied


async def _warn_of_nothing(flow: Flow, source: ClusterClient, rights: Iterable[Right]) -> None:
    """The user may lack rights, or there is no such topic yet."""
    wide = [
        each._replace(is_optional=False)
        for each in rights
        if each.resource_type is ResourceType.TOPIC
        and each.operation is AclOperation.READ
        and each.is_wide
    ]
    denied = await denial_of(source, wide, _who(flow, flow.source))
    if denied is not None:
        _log.warning(
            "flow %s sees no topic of %s that it copies. If there are some: %s",
            flow.name,
            flow.source.name,
            denied,
        )


def _who(flow: Flow, end: ClusterEnd) -> str:
    return f"flow {flow.name} in cluster {end.name}"
