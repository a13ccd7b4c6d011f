"""The rights that a flow needs in its two clusters, from its definition.

Expressions for topics and groups become the names or prefixes with which all that they match
begins, since rules know no expressions. What a flow does without is optional.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.check import denial_of
from barnabas.client.rights.right import ANY, Right, created_topic, group, topic, transactional_id
from barnabas.coordination.mirror_groups import MIRROR_PREFIX
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.formats.internal_topics import (
    HEARTBEATS_TOPIC,
    checkpoints_topic,
    offset_syncs_topic,
)
from barnabas.mirror.names import remote_topic
from barnabas.wire.acl_codes import CLUSTER_NAME, AclOperation, ResourceType

_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\\.|\.(?![*+?{]))*")
_QUANTIFIER = re.compile(r"[*+?{]")


def source_rights(mirrored: ConfiguredFlow) -> list[Right]:
    """In the cluster that is copied."""
    flow, groups = mirrored.flow, mirrored.groups
    what = f"topics of flow {flow.name}"
    found = []
    for name, prefixed in _covering(flow.topics):
        found.append(topic(AclOperation.READ, name, what)._replace(prefixed=prefixed))
        configs = topic(AclOperation.DESCRIBE_CONFIGS, name, f"settings of {what}")
        found.append(configs._replace(prefixed=prefixed, is_optional=True))
    for name, prefixed in _covering(groups.include):
        offsets = group(name, f"offsets of groups of flow {flow.name}", prefixed=prefixed)
        found.append(offsets._replace(operation=AclOperation.DESCRIBE, is_optional=True))
    if flow.names is Names.IDENTITY and not flow.provenance:
        loops = group(MIRROR_PREFIX, "noticing a flow in the other direction", prefixed=True)
        found.append(loops._replace(operation=AclOperation.DESCRIBE))
    if groups.emit_heartbeats:
        found += map(_optional, _own_topic(HEARTBEATS_TOPIC, f"heartbeats of flow {flow.name}"))
    if flow.replicate_heartbeats:
        beats = topic(AclOperation.READ, HEARTBEATS_TOPIC, f"heartbeats of flow {flow.name}")
        found.append(_optional(beats))
    backward = offset_syncs_topic(flow.target.name, flow.internal_separator)
    what = "groups that come back, with a flow in the other direction"
    found.append(_optional(topic(AclOperation.READ, backward, what)))
    found += _of_cluster(flow, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    return found


def target_rights(mirrored: ConfiguredFlow) -> list[Right]:
    """In the cluster that is written."""
    flow, groups = mirrored.flow, mirrored.groups
    what = f"topics of flow {flow.name}"
    found: list[Right] = []
    for name, prefixed in _covering_copies(flow):
        own = _own_topic(name, what, reads=True)
        found.extend(each._replace(prefixed=prefixed) for each in own)
        for operation in (
            AclOperation.ALTER,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            *([AclOperation.DELETE] if flow.sync_deletes else []),
        ):
            upkeep = topic(operation, name, f"partitions and settings of {what}")
            found.append(upkeep._replace(prefixed=prefixed, is_optional=True))
    if flow.replicate_heartbeats and flow.names is Names.IDENTITY:
        name = remote_topic(flow, HEARTBEATS_TOPIC)
        found += map(_optional, _own_topic(name, "heartbeats of the source", reads=True))
    # Of all flows, to notice another one that writes the same topics.
    found.append(group(MIRROR_PREFIX, f"positions of flow {flow.name} and others", prefixed=True))
    found.append(transactional_id(flow.group_id, f"copies of flow {flow.name}", prefixed=True))
    separator = flow.internal_separator
    found += _own_topic(offset_syncs_topic(flow.source.name, separator), "offset syncs", reads=True)
    if groups.commit:
        for name, prefixed in _covering(groups.include):
            found.append(_optional(group(name, "offsets of mirrored groups", prefixed=prefixed)))
    if groups.emit_checkpoints:
        name = checkpoints_topic(flow.source.name, separator)
        found += map(_optional, _own_topic(name, "checkpoints", reads=True))
    if groups.emit_heartbeats:
        found += map(_optional, _own_topic(HEARTBEATS_TOPIC, "heartbeats", reads=True))
    found += _of_cluster(flow, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)
    return found


async def check_rights(
    mirrored: ConfiguredFlow, source: ClusterClient, target: ClusterClient
) -> None:
    """Raise the error that names what is missing, where the flow signs in."""
    flow = mirrored.flow
    for end, cluster, rights in (
        (flow.source, source, source_rights(mirrored)),
        (flow.target, target, target_rights(mirrored)),
    ):
        if end.security:
            denied = await denial_of(cluster, rights, f"flow {flow.name} in cluster {end.name}")
            if denied is not None:
                raise denied


def _of_cluster(flow: Flow, acls: AclOperation, quotas: AclOperation) -> Iterator[Right]:
    for is_wanted, operation, what in (
        (flow.sync_acls, acls, "copying ACLs"),
        (flow.sync_quotas, quotas, "copying quotas"),
    ):
        if is_wanted:
            yield Right(operation, ResourceType.CLUSTER, CLUSTER_NAME, what, is_optional=True)


def _own_topic(name: str, what: str, *, reads: bool = False) -> Iterator[Right]:
    if reads:
        yield topic(AclOperation.READ, name, what)
    yield topic(AclOperation.WRITE, name, what)
    yield created_topic(name, what)


def _covering_copies(flow: Flow) -> Sequence[tuple[str, bool]]:
    """The topics of the target, by name or prefix."""
    if flow.names is Names.PREFIX:
        return [(f"{flow.source.name}{flow.separator}", True)]
    return _covering(flow.topics)


def _covering(patterns: Iterable[str]) -> Sequence[tuple[str, bool]]:
    """Names, and prefixes, that cover all that expressions match."""
    found = dict.fromkeys(_cover(each) for each in patterns)
    return [(ANY, False)] if ("", True) in found else list(found)


def _cover(pattern: str) -> tuple[str, bool]:
    if "|" in pattern:
        return "", True
    match = _LITERAL.match(pattern)
    literal = "" if match is None else match.group()
    rest = pattern[len(literal) :]
    if _QUANTIFIER.match(rest):
        literal = literal[:-1].removesuffix("\\")  # the last character may be absent
    return literal.replace("\\.", "."), bool(rest)


def _optional(right: Right) -> Right:
    return right._replace(is_optional=True)
